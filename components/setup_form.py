"""The form that describes a run: environment, algorithm, preset, budget and everything else."""

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement
from pydantic import ValidationError

from app.algorithms.catalogue import CATALOGUE as ALGORITHMS
from app.algorithms.catalogue import get_algorithm
from app.environments.catalogue import CATALOGUE as ENVIRONMENTS
from app.environments.spec import EnvSpec
from app.errors import InputError, explain
from app.presets.spec import Preset
from app.training.config import RunConfig, RunRequest
from app.training.options import ENGINE, OPTIONS
from app.training.seeds import one_request_per_seed
from components.environment_picker import EnvironmentPicker
from components.hyperparameter_field import (
    HyperparameterField,
    checked_elsewhere,
    number_input,
    read_whole,
)
from components.preset_picker import PresetPicker

_ABOVE_ADVANCED = {"learning_rate": "Learning rate"}
_PREFIX = "hyperparameters."
_OPTION_PREFIX = "wrappers."
_KWARGS_PREFIX = "env_kwargs."
_TEXT_PROPS = "dense outlined hide-bottom-space"


class SetupForm:
    """Reads a person's wishes and hands them over once they make sense together."""

    def __init__(
        self,
        *,
        on_train: Callable[[RunRequest], Awaitable[None]],
        on_environment: Callable[[], None],
        find: Callable[[str], Awaitable[EnvSpec]],
    ) -> None:
        """Show the form; `find` looks an environment up that has no card."""
        self._on_train = on_train
        self._on_environment = on_environment
        self._hyperparameters: dict[str, HyperparameterField] = {}
        self._options: dict[str, HyperparameterField] = {}
        self._env_options: dict[str, HyperparameterField] = {}
        self._is_filling = False
        self.picker = EnvironmentPicker(
            list(ENVIRONMENTS.values()), on_pick=self._environment_picked, find=find
        )
        with ui.element("div").classes("lab-form"):
            self._main_part()
            advanced = ui.expansion("Advanced").props("dense dense-toggle").classes("w-full")
            with advanced, ui.element("div").classes("lab-form"):
                self._advanced_part()
            self._error = ui.label().classes("lab-error").props('role="alert"')
            self._target = ui.label().classes("lab-small")
            self._train = ui.button("Train", on_click=self._submit, color=None)
            self._train.props("unelevated").classes("lab-button lab-primary")
            with self._train:
                self._why_not = ui.tooltip("")
        self._offer_options_of(self.picker.value)
        self._algorithm_picked()

    def _main_part(self) -> None:
        self._algorithm = ui.select(
            list(ALGORITHMS), label="Algorithm", value="PPO", on_change=self._algorithm_picked
        )
        checked_elsewhere(self._algorithm).props(_TEXT_PROPS).mark("Algorithm")
        self._summary = ui.label().classes("lab-small")
        self._preset = PresetPicker(on_pick=self._fill)
        self._main = ui.element("div").classes("lab-form")
        self._timesteps = number_input("Total timesteps", "", self._check)
        with ui.element("div").classes("lab-pair"):
            self._seed = number_input("Seed", "", self._check).props("placeholder=random")
            self._seeds = number_input("Repeats", "1", self._check)
            with self._seeds:
                ui.tooltip("How many runs, each with a seed of its own.").props("delay=400")
        self._n_envs = number_input("Parallel envs", "", self._check)

    def _advanced_part(self) -> None:
        self._name = _text_input("Name", self._check)
        self._init_from = _text_input("Begin from run", self._check)
        self._init_from.props('placeholder="id, or id@step"')
        self._engine = HyperparameterField(ENGINE, on_change=self._check, label="Engine")
        self._advanced = ui.element("div").classes("lab-form")
        ui.label("Environment").classes("lab-label pt-2")
        self._environment = ui.element("div").classes("lab-form")
        for option in OPTIONS:
            self._options[option.name] = HyperparameterField(option, on_change=self._check)
        ui.label("Evaluation beside training").classes("lab-label pt-2")
        self._evaluate = number_input("Evaluate every (steps)", "", self._check)
        self._evaluate.props("placeholder=never")
        self._stop_when_solved = ui.checkbox("Stop when solved", on_change=self._check)
        self._stop_when_solved.props("dense").mark("stop_when_solved")

    def _environment_picked(self, spec: EnvSpec) -> None:
        self._offer_options_of(spec)
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
        self._hyperparameters.clear()
        self._main.clear()
        self._advanced.clear()
        for parameter in spec.hyperparameters:
            label = _ABOVE_ADVANCED.get(parameter.name, "")
            with self._main if label else self._advanced:
                field = HyperparameterField(parameter, on_change=self._check, label=label)
                self._hyperparameters[parameter.name] = field
        self._fill()

    def _fill(self) -> None:
        """Write the values of the chosen preset, or the defaults, into the fields."""
        preset = self._preset.preset(self.picker.value.id, self._algorithm.value)
        self._target.set_text(f"{self._algorithm.value} on {self.picker.value.id}")
        # Each field would check the whole form, half filled.
        self._is_filling = True
        self._fill_in(preset)
        self._is_filling = False
        self._check()

    def _fill_in(self, preset: Preset) -> None:
        spec = get_algorithm(self._algorithm.value)
        self._timesteps.set_value(f"{preset.total_timesteps:,}")
        self._n_envs.set_value(str(preset.n_envs or spec.default_n_envs))
        values = {**spec.defaults_for(self.picker.value), **preset.hyperparameters}
        for parameter in spec.hyperparameters:
            value = values.get(parameter.name, parameter.default)
            self._hyperparameters[parameter.name].set(value)
        defaults = {"frame_stack": self.picker.value.default_frame_stack}
        for option in OPTIONS:
            default = defaults.get(option.name, option.default)
            self._options[option.name].set(preset.wrappers.get(option.name, default))

    def _wishes(self) -> dict[str, Any]:
        wishes: dict[str, Any] = {
            "env_id": self.picker.value.id,
            "algorithm": self._algorithm.value,
            "preset": self._preset.value,
            "total_timesteps": read_whole(self._timesteps.value or ""),
            "n_envs": read_whole(self._n_envs.value or ""),
            "hyperparameters": {name: f.value for name, f in self._hyperparameters.items()},
            "wrappers": {name: f.value for name, f in self._options.items()},
            "env_kwargs": {name: f.value for name, f in self._env_options.items()},
            "stop_when_solved": self._stop_when_solved.value,
            "engine": self._engine.value,
            "name": self._name.value or None,
            "init_from": self._init_from.value.strip() or None,
            "start": True,
        }
        for name, field in (("seed", self._seed), ("evaluate_every", self._evaluate)):
            if field.value:
                wishes[name] = read_whole(field.value)
        if self._seeds.value not in ("", "1"):
            wishes["seeds"] = read_whole(self._seeds.value)
        return wishes

    def _read(self) -> RunRequest:
        """Return what is asked for.

        Raises:
            InputError: if it can't be done.
        """
        try:
            request = RunRequest.model_validate(self._wishes())
        except ValidationError as error:
            raise explain(error.errors()) from None
        if request.seeds is not None:
            list(one_request_per_seed(request))
        RunConfig.from_request(request)
        return request

    def _check(self) -> RunRequest | None:
        """Say what is wrong where it is wrong, and offer TRAIN only when nothing is."""
        if self._is_filling:
            return None
        try:
            request, problem = self._read(), None
        except InputError as error:
            request, problem = None, error
        self._say(problem)
        return request

    def _say(self, problem: InputError | None) -> None:
        where = problem.field or "" if problem else ""
        text = str(problem) if problem else None
        for name, field in self._hyperparameters.items():
            field.say(text if where == _PREFIX + name else None)
        for name, field in self._options.items():
            field.say(text if where == _OPTION_PREFIX + name else None)
        for name, field in self._env_options.items():
            field.say(text if where == _KWARGS_PREFIX + name else None)
        self._engine.say(text if where == "engine" else None)
        in_sight: dict[str, ValidationElement[Any]] = {
            "total_timesteps": self._timesteps,
            "n_envs": self._n_envs,
            "seed": self._seed,
            "seeds": self._seeds,
            "algorithm": self._algorithm,
        }
        folded = {
            "name": self._name,
            "init_from": self._init_from,
            "evaluate_every": self._evaluate,
        }
        for name, element in (in_sight | folded).items():
            element.error = text if where == name else None
        # What is wrong under "Advanced" is said here, too: that part may be closed.
        is_in_sight = where in in_sight or where.removeprefix(_PREFIX) in _ABOVE_ADVANCED
        self._error.set_text("" if is_in_sight else text or "")
        self._train.set_enabled(problem is None)
        self._why_not.set_text(text or "")
        self._why_not.set_visibility(problem is not None)

    async def _submit(self) -> None:
        request = self._check()
        if request is None:
            return
        self._train.props("loading")
        try:
            await self._on_train(request)
        except InputError as error:
            self._say(error)
        finally:
            self._train.props(remove="loading")


def _text_input(label: str, on_change: Callable[[], object]) -> ui.input:
    field = checked_elsewhere(ui.input(label, on_change=on_change))
    return field.props(_TEXT_PROPS).mark(label.replace(" ", "_"))
