"""The form that describes a run: environment, algorithm, budget and every hyperparameter."""

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
from app.training.config import RunConfig, RunRequest
from components.environment_picker import EnvironmentPicker
from components.hyperparameter_field import (
    HyperparameterField,
    checked_elsewhere,
    number_input,
    read_whole,
)

_ABOVE_ADVANCED = {"learning_rate": "Learning rate"}
_PREFIX = "hyperparameters."


class SetupForm:
    """Reads a person's wishes and hands them over once they make sense together."""

    def __init__(
        self,
        *,
        on_train: Callable[[RunRequest], Awaitable[None]],
        on_environment: Callable[[], None],
    ) -> None:
        self._on_train = on_train
        self._on_environment = on_environment
        self._hyperparameters: dict[str, HyperparameterField] = {}
        first = next(iter(ENVIRONMENTS.values()))
        self.picker = EnvironmentPicker(
            list(ENVIRONMENTS.values()), on_pick=self._environment_picked
        )
        with ui.element("div").classes("lab-form"):
            self._algorithm = ui.select(
                list(ALGORITHMS), label="Algorithm", value="PPO", on_change=self._algorithm_picked
            )
            checked_elsewhere(self._algorithm).props("dense outlined hide-bottom-space")
            self._algorithm.mark("Algorithm")
            self._summary = ui.label().classes("lab-small")
            self._main = ui.element("div").classes("lab-form")
            self._timesteps = number_input(
                "Total timesteps", f"{first.default_timesteps:,}", self._check
            )
            with ui.element("div").classes("lab-pair"):
                self._n_envs = number_input("Parallel envs", "", self._check)
                self._seed = number_input("Seed", "", self._check).props("placeholder=random")
            with ui.expansion("Advanced").props("dense dense-toggle").classes("w-full"):
                self._name = ui.input("Name", on_change=self._check)
                checked_elsewhere(self._name).props("dense outlined hide-bottom-space").mark("Name")
                self._advanced = ui.element("div").classes("lab-form")
            self._error = ui.label().classes("lab-error").props('role="alert"')
            self._train = ui.button("Train", on_click=self._submit, color=None)
            self._train.props("unelevated").classes("lab-button lab-primary")
            with self._train:
                self._why_not = ui.tooltip("")
        self._algorithm_picked()

    def _environment_picked(self, spec: EnvSpec) -> None:
        self._timesteps.set_value(f"{spec.default_timesteps:,}")
        self._check()
        self._on_environment()

    def _algorithm_picked(self) -> None:
        """Offer the hyperparameters of the chosen algorithm, with its defaults."""
        spec = get_algorithm(self._algorithm.value)
        self._summary.set_text(spec.summary)
        self._n_envs.set_value(str(spec.default_n_envs))
        self._hyperparameters.clear()
        self._main.clear()
        self._advanced.clear()
        for parameter in spec.hyperparameters:
            label = _ABOVE_ADVANCED.get(parameter.name, "")
            with self._main if label else self._advanced:
                field = HyperparameterField(parameter, on_change=self._check, label=label)
                self._hyperparameters[parameter.name] = field
        self._check()

    def _wishes(self) -> dict[str, Any]:
        wishes: dict[str, Any] = {
            "env_id": self.picker.value.id,
            "algorithm": self._algorithm.value,
            "total_timesteps": read_whole(self._timesteps.value or ""),
            "n_envs": read_whole(self._n_envs.value or ""),
            "hyperparameters": {name: f.value for name, f in self._hyperparameters.items()},
            "name": self._name.value or None,
            "start": True,
        }
        if self._seed.value:
            wishes["seed"] = read_whole(self._seed.value)
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
        RunConfig.from_request(request)
        return request

    def _check(self) -> RunRequest | None:
        """Say what is wrong where it is wrong, and offer TRAIN only when nothing is."""
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
        plain: dict[str, ValidationElement[Any]] = {
            "total_timesteps": self._timesteps,
            "n_envs": self._n_envs,
            "seed": self._seed,
            "name": self._name,
            "algorithm": self._algorithm,
        }
        for name, element in plain.items():
            element.error = text if where == name else None
        # What is wrong under "Advanced" is said here, too: that part may be closed.
        is_in_sight = where in plain or where.removeprefix(_PREFIX) in _ABOVE_ADVANCED
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
