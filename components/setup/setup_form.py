"""The form that describes a run: environment, algorithm, preset, budget and everything else."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nicegui import ui
from pydantic import ValidationError

from app.catalog.algorithms.catalogue import CATALOGUE as ALGORITHMS
from app.catalog.algorithms.catalogue import get_algorithm
from app.catalog.environments.catalogue import CATALOGUE as ENVIRONMENTS
from app.catalog.environments.spec import EnvSpec
from app.catalog.presets.spec import Preset, PresetName
from app.core.errors import InputError, explain
from app.run_config.config import RunConfig, RunRequest
from app.run_config.seeds import one_request_per_seed
from app.run_config.wrapper_options import ENGINE, OPTIONS
from components.base.explain import AlgorithmWords
from components.base.hyperparameter_field import HyperparameterField, checked_elsewhere
from components.setup.advanced_settings import AdvancedSettings
from components.setup.environment_picker import EnvironmentPicker
from components.setup.field_groups import FieldGroup, group_of
from components.setup.form_memory import FormMemory
from components.setup.prefilling import Prefill
from components.setup.preset_picker import PresetPicker
from components.setup.reward_choice import RewardChoice
from components.setup.run_fields import PLACEHOLDERS, run_field
from storage.records.runs import JsonObject

_ABOVE_ADVANCED = {"learning_rate": "Learning rate"}
_IN_SIGHT = ("total_timesteps", "n_envs", "seed", "seeds")
_FOLDED = ("name", "init_from", "evaluate_every", "stop_when_solved")
_PREFIX = "hyperparameters."
_OPTION_PREFIX = "wrappers."
_KWARGS_PREFIX = "env_kwargs."
_TEXT_PROPS = "dense outlined hide-bottom-space"
_ONE = "1"


class SetupForm:
    """Reads a person's wishes and hands them over once they make sense together."""

    def __init__(
        self,
        *,
        on_train: Callable[[RunRequest], Awaitable[None]],
        on_environment: Callable[[], None],
        on_reward: Callable[[], Awaitable[None]],
        find: Callable[[str], Awaitable[EnvSpec]],
        refusal: str | None = None,
    ) -> None:
        """`find` looks an environment up that has no card; `refusal`: why nothing can be asked.

        `on_reward` lets somebody write a reward for the chosen environment.
        """
        self._on_train = on_train
        self._on_environment = on_environment
        self._refusal = refusal
        self._hyperparameters: dict[str, HyperparameterField] = {}
        self._options: dict[str, HyperparameterField] = {}
        self._env_options: dict[str, HyperparameterField] = {}
        self._run: dict[str, HyperparameterField] = {}
        self._is_busy = False
        self._is_filling = True
        """Whether values are being written in: each would have the whole form checked."""
        self._memory = FormMemory(on_recall=self._recall)
        self._note = ui.label(refusal or "").classes("lab-notice").props('role="status"')
        with ui.element("div").classes("lab-form").props("inert" if refusal else ""):
            specs = list(ENVIRONMENTS.values())
            self.picker = EnvironmentPicker(specs, on_pick=self._environment_picked, find=find)
            self.reward = RewardChoice(on_edit=on_reward)
            self._main_part()
            self._advanced = AdvancedSettings(self._grouped)
            self._advanced_part()
        self._end()
        self._offer_options_of(self.picker.value)
        self.reward.show(self.picker.value.id)
        self._algorithm_picked()

    @property
    def env_kwargs(self) -> dict[str, Any]:
        """The options of the chosen environment, as they stand in the form."""
        return {name: field.value for name, field in self._env_options.items()}

    def begin_simply(self) -> None:
        """Set what the tour speaks of: CartPole, PPO and its fast preset."""
        self.picker.pick(ENVIRONMENTS["CartPole-v1"])
        self._algorithm.set_value("PPO")
        self._preset.pick(PresetName.FAST)

    def prefill(self, wish: Prefill) -> None:
        """Choose what an address asked for, and say what of it can't be."""
        env, algorithm, preset = wish.environment, wish.algorithm, wish.preset
        if env is not None:
            self.picker.bring_up(env)
        if algorithm is not None:
            self._algorithm.set_value(algorithm)
        if preset is not None:
            self._preset.pick(preset)
        if self._refusal is None:
            self._note.set_text(" ".join(wish.problems))

    def _draft(self) -> JsonObject:
        """Return what was chosen and typed, right or wrong."""
        typed = {name: one.element.value for name, one in self._named_fields() if one.is_changed}
        return {
            "env": self.picker.value.id,
            "algorithm": self._algorithm.value,
            "preset": self._preset.value or "",
            "typed": typed,
        }

    def _recall(self, draft: JsonObject) -> None:
        """Bring back what was chosen and typed before the page was loaded again."""
        env, algorithm, preset = (draft.get(key) or "" for key in ("env", "algorithm", "preset"))
        wish = Prefill.read(str(env), str(algorithm), str(preset))
        self.prefill(wish)
        if wish.preset is None:
            self._preset.pick(None)
        given = draft.get("typed")
        typed: JsonObject = given if isinstance(given, dict) else {}
        self._is_filling = True
        for name, field in self._named_fields():
            if name in typed:
                field.recall(typed[name])
        self._is_filling = False
        self._check()

    def stand_back(self, is_busy: bool) -> None:
        """Leave the foremost button to the stage while a run trains there."""
        self._is_busy = is_busy
        look, other = ("lab-quiet", "lab-primary") if is_busy else ("lab-primary", "lab-quiet")
        self._train.classes(add=look, remove=other)
        self._name_target()

    def _name_target(self) -> None:
        what = f"{self._algorithm.value} on {self.picker.value.id}"
        self._target.set_text(f"Another run: {what}" if self._is_busy else what)

    def _main_part(self) -> None:
        self._algorithm = ui.select(
            list(ALGORITHMS), label="Algorithm", value="PPO", on_change=self._algorithm_picked
        )
        checked_elsewhere(self._algorithm).props(_TEXT_PROPS).mark("Algorithm")
        self._summary = ui.label().classes("lab-small")
        self._words = AlgorithmWords()
        self._preset = PresetPicker(on_pick=self._fill)
        self._main = ui.element("div").classes("lab-form")
        self._add_run_field("total_timesteps")
        with ui.element("div").classes("lab-pair"):
            self._add_run_field("seed")
            self._add_run_field("seeds")
        self._run["seeds"].set(_ONE)
        self._add_run_field("n_envs")

    def _advanced_part(self) -> None:
        with self._advanced.place(FieldGroup.ENVIRONMENT):
            self._environment = ui.element("div").classes("lab-form")
            for option in OPTIONS:
                self._options[option.name] = HyperparameterField(option, on_change=self._check)
        with self._advanced.place(FieldGroup.RUN):
            for name in _FOLDED:
                self._add_run_field(name)
            engine = HyperparameterField(ENGINE, on_change=self._check, label="Engine")
            self._run["engine"] = engine

    def _add_run_field(self, name: str) -> None:
        parameter, label = run_field(name)
        field = HyperparameterField(parameter, on_change=self._check, label=label)
        if name in PLACEHOLDERS:
            field.element.props(f'placeholder="{PLACEHOLDERS[name]}"')
        self._run[name] = field

    def _end(self) -> None:
        """Add what is always in sight: what is wrong, what it is about, and the button."""
        with ui.element("div").classes("lab-form lab-form-end"):
            self._error = ui.label().classes("lab-error").props('role="alert"')
            self._target = ui.label().classes("lab-small")
            self._train = ui.button("Train", on_click=self._submit, color=None)
            self._train.props("unelevated").classes("lab-button lab-primary")
            with self._train:
                self._why_not = ui.tooltip("")

    def _grouped(self) -> Mapping[FieldGroup, Sequence[HyperparameterField]]:
        """Return what is under "Advanced" right now."""
        groups: dict[FieldGroup, list[HyperparameterField]] = {group: [] for group in FieldGroup}
        for parameter in get_algorithm(self._algorithm.value).hyperparameters:
            if parameter.name not in _ABOVE_ADVANCED:
                groups[group_of(parameter)].append(self._hyperparameters[parameter.name])
        groups[FieldGroup.ENVIRONMENT] += [*self._env_options.values(), *self._options.values()]
        groups[FieldGroup.RUN] += [self._run[name] for name in (*_FOLDED, "engine")]
        return groups

    def _environment_picked(self, spec: EnvSpec) -> None:
        self._offer_options_of(spec)
        self.reward.show(spec.id)
        self._advanced.search()
        self._fill()
        self._on_environment()

    def _offer_options_of(self, spec: EnvSpec) -> None:
        """Offer what can be set about the chosen environment."""
        self._environment.clear()
        self._env_options.clear()
        with self._environment:
            for option in spec.options or ():
                field = HyperparameterField(option, on_change=self._check)
                self._env_options[option.name] = field

    def _algorithm_picked(self) -> None:
        """Offer the hyperparameters of the chosen algorithm."""
        spec = get_algorithm(self._algorithm.value)
        self._summary.set_text(spec.summary)
        self._words.show(spec.id)
        for field in self._hyperparameters.values():
            field.delete()
        self._hyperparameters.clear()
        for parameter in spec.hyperparameters:
            label = _ABOVE_ADVANCED.get(parameter.name, "")
            with self._main if label else self._advanced.place(group_of(parameter)):
                field = HyperparameterField(parameter, on_change=self._check, label=label)
                self._hyperparameters[parameter.name] = field
        self._advanced.search()
        self._fill()

    def _fill(self) -> None:
        """Write the values of the chosen preset, or the defaults, into the fields."""
        preset = self._preset.preset(self.picker.value.id, self._algorithm.value)
        self._name_target()
        self._is_filling = True
        self._fill_in(preset)
        self._is_filling = False
        self._check()

    def _fill_in(self, preset: Preset) -> None:
        spec = get_algorithm(self._algorithm.value)
        self._run["total_timesteps"].set(f"{preset.total_timesteps:,}")
        self._run["n_envs"].set(preset.n_envs or spec.default_n_envs)
        values = {**spec.defaults_for(self.picker.value), **preset.hyperparameters}
        for parameter in spec.hyperparameters:
            value = values.get(parameter.name, parameter.default)
            self._hyperparameters[parameter.name].set(value)
        defaults = {"frame_stack": self.picker.value.default_frame_stack}
        for option in OPTIONS:
            default = defaults.get(option.name, option.default)
            self._options[option.name].set(preset.wrappers.get(option.name, default))

    def _wishes(self) -> dict[str, Any]:
        run = {name: field.value for name, field in self._run.items()}
        for name in ("name", "init_from"):
            run[name] = str(run[name]).strip() or None
        if run["seeds"] in ("", 1):
            del run["seeds"]
        return {
            **run,
            "env_id": self.picker.value.id,
            "algorithm": self._algorithm.value,
            "preset": self._preset.value,
            "hyperparameters": {name: f.value for name, f in self._hyperparameters.items()},
            "wrappers": {name: f.value for name, f in self._options.items()},
            "env_kwargs": self.env_kwargs,
            "start": True,
        }

    def _read(self) -> RunRequest:
        """Return what is asked for.

        Raises:
            ValidationError: if values can't be what they should.
            InputError: if it can't be done.
        """
        request = RunRequest.model_validate(self._wishes())
        if request.seeds is not None:
            list(one_request_per_seed(request))
        RunConfig.from_request(request)
        return request

    def _check(self) -> RunRequest | None:
        """Say what is wrong where it is wrong, and offer TRAIN only when nothing is."""
        if self._is_filling:
            return None
        request, problems = None, self._wrong_values()
        try:
            request = self._read()
        except ValidationError as error:
            problems += [explain([one]) for one in error.errors()]
        except InputError as error:
            problems.append(error)
        self._say(problems)
        self._memory.keep(self._draft())
        return None if problems else request

    def _wrong_values(self) -> list[InputError]:
        """Return what is wrong with each hyperparameter: together only the first would be told."""
        found = (field.problem(_PREFIX + name) for name, field in self._hyperparameters.items())
        return [problem for problem in found if problem is not None]

    def _say(self, problems: Sequence[InputError]) -> None:
        """Show each problem at its field; of several at one field the first."""
        texts = {one.field or "": str(one) for one in reversed(problems)}
        for name, field in self._named_fields():
            field.say(texts.get(name), called=name.rpartition(".")[2])
        self._algorithm.error = texts.get("algorithm")
        # What is wrong under "Advanced" is said here, too: that part may be closed.
        above = (*_IN_SIGHT, "algorithm", *(_PREFIX + name for name in _ABOVE_ADVANCED))
        self._error.set_text(" ".join(text for name, text in texts.items() if name not in above))
        why_not = self._refusal or next(iter(texts.values()), None)
        self._train.set_enabled(why_not is None)
        self._why_not.set_text(why_not or "")
        self._why_not.set_visibility(why_not is not None)

    def _named_fields(self) -> list[tuple[str, HyperparameterField]]:
        """Return all fields by the names that errors have for them."""
        return [
            *self._run.items(),
            *((_PREFIX + name, field) for name, field in self._hyperparameters.items()),
            *((_OPTION_PREFIX + name, field) for name, field in self._options.items()),
            *((_KWARGS_PREFIX + name, field) for name, field in self._env_options.items()),
        ]

    def refuse(self, sentence: str) -> None:
        """Say why what was asked for didn't happen."""
        self._error.set_text(sentence)

    async def _submit(self) -> None:
        request = self._check()
        if request is None or self._refusal is not None:
            return
        self._train.props("loading")
        try:
            # Only now: reading code at every stroke of a key would keep everybody waiting.
            await self._on_train(request.model_copy(update={"reward_code": self.reward.code}))
        except InputError as error:
            self._say([error])
        finally:
            self._train.props(remove="loading")
