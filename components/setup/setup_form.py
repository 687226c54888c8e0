"""The training form: environment, algorithm, preset, budget and advanced settings."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nicegui import ui
from pydantic import ValidationError

from app.catalog.algorithms import ALGORITHMS, DEFAULT_ALGORITHM, get_algorithm
from app.catalog.environments import ENVIRONMENTS, EnvSpec
from app.catalog.presets import Preset, PresetName
from app.core import InputError, input_error
from app.run_config import (
    ENGINE_OPTION,
    EVALUATION_FIELDS,
    WRAPPER_OPTIONS,
    RunConfig,
    RunRequest,
    one_request_per_seed,
    usual_final_episodes,
)
from components.base import AlgorithmCard, HyperparameterField, checked_elsewhere
from components.setup.advanced_settings import (
    ENVIRONMENT,
    EVALUATION,
    RUN,
    TITLES,
    AdvancedSettings,
)
from components.setup.environment_picker import EnvironmentPicker
from components.setup.form_memory import FormMemory
from components.setup.prefilling import Prefill
from components.setup.preset_picker import PresetPicker
from components.setup.reward_choice import RewardChoice
from components.setup.run_fields import PLACEHOLDERS, run_field
from storage.records import JsonObject

_ABOVE_ADVANCED = {"learning_rate": "Learning rate"}
_ALWAYS_VISIBLE = ("total_timesteps", "n_envs", "seed", "seeds")
_EVALUATED = ("evaluate_every", "stop_when_solved")
_FOLDED = ("name", "init_from")
_PREFIX = "hyperparameters."
_OPTION_PREFIX = "wrappers."
_KWARGS_PREFIX = "env_kwargs."
_EVALUATION_PREFIX = "evaluation."
_TEXT_PROPS = "dense outlined hide-bottom-space"
_ONE = "1"


class SetupForm:
    """Collects the settings of a run and requests it once they are valid."""

    def __init__(
        self,
        *,
        on_train: Callable[[RunRequest], Awaitable[None]],
        on_environment: Callable[[], None],
        on_reward: Callable[[], Awaitable[None]],
        find: Callable[[str], Awaitable[EnvSpec]],
        refusal: str | None = None,
    ) -> None:
        """`find` looks up an environment without a card; `refusal` is why the user can't train.

        `on_reward` opens the reward editor for the chosen environment.
        """
        self._on_train = on_train
        self._on_environment = on_environment
        self._refusal = refusal
        self._hyperparameters: dict[str, HyperparameterField] = {}
        self._options: dict[str, HyperparameterField] = {}
        self._env_options: dict[str, HyperparameterField] = {}
        self._run: dict[str, HyperparameterField] = {}
        self._evaluation: dict[str, HyperparameterField] = {}
        self._is_busy = False
        self._is_filling = True
        """Whether values are being filled in: each would trigger a check of the whole form."""
        self._memory = FormMemory(on_recall=self._restore)
        self._note = ui.label(refusal or "").classes("lab-notice").props('role="status"')
        with ui.element("div").classes("lab-form").props("inert" if refusal else ""):
            specs = list(ENVIRONMENTS.values())
            self.picker = EnvironmentPicker(specs, on_pick=self._environment_picked, find=find)
            self.reward = RewardChoice(on_edit=on_reward)
            self._add_main_part()
            self._advanced = AdvancedSettings(self._advanced_fields)
            self._add_advanced_part()
        self._add_footer()
        self._offer_options_of(self.picker.value)
        self.reward.show(self.picker.value.id)
        self._algorithm_picked()

    @property
    def env_kwargs(self) -> dict[str, Any]:
        """The current values of the chosen environment's options."""
        return {name: field.value for name, field in self._env_options.items()}

    def fill_for_tour(self) -> None:
        """Choose what the tour describes: CartPole, the default algorithm, its fast preset."""
        self.picker.pick(ENVIRONMENTS["CartPole-v1"])
        self._algorithm.set_value(DEFAULT_ALGORITHM.id)
        self._preset.pick(PresetName.FAST)

    def prefill(self, values: Prefill) -> None:
        """Apply the values of an address, and show those that could not be applied."""
        env, algorithm, preset = values.environment, values.algorithm, values.preset
        if env is not None:
            self.picker.pick_and_reveal(env)
        if algorithm is not None:
            self._algorithm.set_value(algorithm)
        problems = list(values.problems)
        if preset is not None:
            self._preset.pick(preset)
            if self._preset.value is not preset:
                pair = f"{self._algorithm.value} on {self.picker.value.id}"
                problems.append(f"{pair} has no preset {preset.label}. The defaults are filled in.")
        if self._refusal is None:
            self._note.set_text(" ".join(problems))

    def _draft(self) -> JsonObject:
        """Return the choices and inputs, valid or not."""
        typed = {name: one.element.value for name, one in self._named_fields() if one.is_changed}
        return {
            "env": self.picker.value.id,
            "algorithm": self._algorithm.value,
            "preset": self._preset.value or "",
            "typed": typed,
        }

    def _restore(self, draft: JsonObject) -> None:
        """Restore the choices and inputs from before a reload."""
        env, algorithm, preset = (draft.get(key) or "" for key in ("env", "algorithm", "preset"))
        values = Prefill.read(str(env), str(algorithm), str(preset))
        self.prefill(values)
        if values.preset is None:
            self._preset.pick(None)
        given = draft.get("typed")
        typed: JsonObject = given if isinstance(given, dict) else {}
        self._is_filling = True
        for name, field in self._named_fields():
            if name in typed:
                field.restore(typed[name])
        self._is_filling = False
        self._check()

    def set_busy(self, is_busy: bool) -> None:
        """Make the button secondary while the shown run trains."""
        self._is_busy = is_busy
        look, other = ("lab-quiet", "lab-primary") if is_busy else ("lab-primary", "lab-quiet")
        self._train.classes(add=look, remove=other)
        self._show_target()

    def _show_target(self) -> None:
        what = f"{self._algorithm.value} on {self.picker.value.id}"
        self._target.set_text(f"Another run: {what}" if self._is_busy else what)

    def _add_main_part(self) -> None:
        self._algorithm = ui.select(
            list(ALGORITHMS),
            label="Algorithm",
            value=DEFAULT_ALGORITHM.id,
            on_change=self._algorithm_picked,
        )
        checked_elsewhere(self._algorithm).props(_TEXT_PROPS).mark("Algorithm")
        self._summary = ui.label().classes("lab-small")
        self._card = AlgorithmCard()
        self._preset = PresetPicker(on_pick=self._fill)
        self._main = ui.element("div").classes("lab-form")
        self._add_run_field("total_timesteps")
        with ui.element("div").classes("lab-pair"):
            self._add_run_field("seed")
            self._add_run_field("seeds")
        self._run["seeds"].set(_ONE)
        self._add_run_field("n_envs")

    def _add_advanced_part(self) -> None:
        with self._advanced.place(ENVIRONMENT):
            self._environment = ui.element("div").classes("lab-form")
            for option in WRAPPER_OPTIONS:
                self._options[option.name] = HyperparameterField(option, on_change=self._check)
        with self._advanced.place(EVALUATION):
            for name in _EVALUATED:
                self._add_run_field(name)
            for label, parameter in EVALUATION_FIELDS.items():
                field = HyperparameterField(parameter, on_change=self._check, label=label)
                self._evaluation[parameter.name] = field
        with self._advanced.place(RUN):
            for name in _FOLDED:
                self._add_run_field(name)
            engine = HyperparameterField(ENGINE_OPTION, on_change=self._check, label="Engine")
            self._run["engine"] = engine

    def _add_run_field(self, name: str) -> None:
        parameter, label = run_field(name)
        field = HyperparameterField(parameter, on_change=self._check, label=label)
        if name in PLACEHOLDERS:
            field.element.props(f'placeholder="{PLACEHOLDERS[name]}"')
        self._run[name] = field

    def _add_footer(self) -> None:
        """Add the footer, which is always visible: errors, what would be trained, the button."""
        with ui.element("div").classes("lab-form lab-form-end"):
            self._error = ui.label().classes("lab-error").props('role="alert"')
            self._target = ui.label().classes("lab-small")
            self._train = ui.button("Train", on_click=self._submit, color=None)
            self._train.props("unelevated").classes("lab-button lab-primary")
            with self._train:
                self._why_not = ui.tooltip("")

    def _advanced_fields(self) -> Mapping[str, Sequence[HyperparameterField]]:
        """Return the fields that are under "Advanced" right now."""
        groups: dict[str, list[HyperparameterField]] = {title: [] for title in TITLES}
        for parameter in get_algorithm(self._algorithm.value).hyperparameters:
            if parameter.name not in _ABOVE_ADVANCED:
                groups[parameter.group].append(self._hyperparameters[parameter.name])
        groups[ENVIRONMENT] += [*self._env_options.values(), *self._options.values()]
        groups[EVALUATION] += [self._run[name] for name in _EVALUATED]
        groups[EVALUATION] += self._evaluation.values()
        groups[RUN] += [self._run[name] for name in (*_FOLDED, "engine")]
        return groups

    def _environment_picked(self, spec: EnvSpec) -> None:
        self._offer_options_of(spec)
        self.reward.show(spec.id)
        self._advanced.search()
        self._fill()
        self._on_environment()

    def _offer_options_of(self, spec: EnvSpec) -> None:
        """Add fields for the options of the chosen environment."""
        self._environment.clear()
        self._env_options.clear()
        with self._environment:
            for option in spec.options or ():
                field = HyperparameterField(option, on_change=self._check)
                self._env_options[option.name] = field

    def _algorithm_picked(self) -> None:
        """Add fields for the hyperparameters of the chosen algorithm."""
        spec = get_algorithm(self._algorithm.value)
        self._summary.set_text(spec.summary)
        self._card.show(spec.id)
        for field in self._hyperparameters.values():
            field.delete()
        self._hyperparameters.clear()
        for parameter in spec.hyperparameters:
            label = _ABOVE_ADVANCED.get(parameter.name, "")
            with self._main if label else self._advanced.place(parameter.group):
                field = HyperparameterField(parameter, on_change=self._check, label=label)
                self._hyperparameters[parameter.name] = field
        self._advanced.search()
        self._fill()

    def _fill(self) -> None:
        """Fill in the values of the chosen preset, or the defaults."""
        preset = self._preset.preset(self.picker.value.id, self._algorithm.value)
        self._show_target()
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
        for option in WRAPPER_OPTIONS:
            default = defaults.get(option.name, option.default)
            self._options[option.name].set(preset.wrappers.get(option.name, default))
        self._evaluation["final_episodes"].set(usual_final_episodes(self.picker.value))

    def _values(self) -> dict[str, Any]:
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
            "evaluation": {name: field.value for name, field in self._evaluation.items()},
            "start": True,
        }

    def _read(self) -> RunRequest:
        """Return the request that the form describes.

        Raises:
            ValidationError: if values have a wrong type or are out of bounds.
            InputError: if the combination is not possible.
        """
        request = RunRequest.model_validate(self._values())
        if request.seeds is not None:
            list(one_request_per_seed(request))
        RunConfig.from_request(request)
        return request

    def _check(self) -> RunRequest | None:
        """Show each error at its field, and enable Train only if there is none."""
        if self._is_filling:
            return None
        request, problems = None, self._wrong_values()
        try:
            request = self._read()
        except ValidationError as error:
            problems += [input_error([one]) for one in error.errors()]
        except InputError as error:
            problems.append(error)
        self._show_problems(problems)
        self._memory.keep(self._draft())
        return None if problems else request

    def _wrong_values(self) -> list[InputError]:
        """Check each hyperparameter alone: checked together, only the first error is reported."""
        problems = (field.problem(_PREFIX + name) for name, field in self._hyperparameters.items())
        return [problem for problem in problems if problem is not None]

    def _show_problems(self, problems: Sequence[InputError]) -> None:
        """Show each problem at its field; if a field has several, the first."""
        texts = {one.field or "": str(one) for one in reversed(problems)}
        for name, field in self._named_fields():
            field.show_error(texts.get(name), api_name=name.rpartition(".")[2])
        self._algorithm.error = texts.get("algorithm")
        # Errors of fields under "Advanced" are shown here, too: that part may be closed.
        above = (*_ALWAYS_VISIBLE, "algorithm", *(_PREFIX + name for name in _ABOVE_ADVANCED))
        self._error.set_text(" ".join(text for name, text in texts.items() if name not in above))
        why_not = self._refusal or next(iter(texts.values()), None)
        self._train.set_enabled(why_not is None)
        self._why_not.set_text(why_not or "")
        self._why_not.set_visibility(why_not is not None)

    def _named_fields(self) -> list[tuple[str, HyperparameterField]]:
        """Return all fields with the names that errors use for them."""
        return [
            *self._run.items(),
            *((_PREFIX + name, field) for name, field in self._hyperparameters.items()),
            *((_OPTION_PREFIX + name, field) for name, field in self._options.items()),
            *((_KWARGS_PREFIX + name, field) for name, field in self._env_options.items()),
            *((_EVALUATION_PREFIX + name, field) for name, field in self._evaluation.items()),
        ]

    def show_error(self, message: str) -> None:
        """Show why a request failed."""
        self._error.set_text(message)

    async def _submit(self) -> None:
        request = self._check()
        if request is None or self._refusal is not None:
            return
        self._train.props("loading")
        try:
            # The code is added only now: checking it at every key press would block the server.
            await self._on_train(request.model_copy(update={"reward_code": self.reward.code}))
        except InputError as error:
            self._show_problems([error])
        finally:
            self._train.props(remove="loading")
