"""What the lab knows about an algorithm and its hyperparameters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.catalog.environments.spec import ActionKind, EnvSpec
from app.core.errors import AlgorithmDoesNotFitError, InputError, UnknownHyperparameterError, short
from app.core.parameters import Layers, Parameter
from app.protocol.schedule import FORMS, Schedule, read_schedule

Value = float | int | bool | str | Layers | Schedule | None
"""What a hyperparameter can be set to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperparameter(Parameter):
    """One knob of an algorithm."""

    scale: Literal["linear", "log"] = "linear"
    schedulable: bool = False
    """Whether it may change with the progress of the run."""
    of_policy: bool = False
    """Whether it describes the network rather than the learning."""

    def check(self, value: object, *, field: str) -> Value:
        """Return `value` in this hyperparameter's type, or as a schedule.

        Raises:
            InputError: if it has another type or lies outside the bounds.
        """
        if self.schedulable and isinstance(value, str | Mapping | Schedule):
            return self._check_schedule(value, field=field)
        checked: Value = Parameter.check(self, value, field=field)
        return checked

    def _check_schedule(self, value: object, *, field: str) -> Schedule:
        schedule = read_schedule(value)
        if schedule is None:
            raise InputError(
                f"{self.name} must be {self.expectation}, or a schedule such as {FORMS}; "
                f"got {short(value)}.",
                field=field,
            )
        if self.min is not None and self.min > 0 and not any(v for _, v in schedule.points):
            raise InputError(f"{self.name} is 0 all the time with this schedule.", field=field)
        for _, number in schedule.points:
            # Fading out to nothing is what schedules are for, even where 0 alone makes no sense.
            if number != 0 and not self.is_within(number):
                raise InputError(
                    f"{self.name} must be {self.expectation} at every point of its schedule, "
                    f"got {number:g}.",
                    field=field,
                )
        return schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmSpec:
    """What the lab shows and checks about one algorithm."""

    id: str
    name: str
    summary: str
    action_kinds: tuple[ActionKind, ...]
    hyperparameters: tuple[Hyperparameter, ...]
    default_n_envs: int
    """How many copies of the environment it collects from unless told otherwise."""
    check_together: Callable[[Mapping[str, Any], int, EnvSpec], None]
    """Refuse values that are fine alone but not together, given n_envs and the environment."""

    defaults_for: Callable[[EnvSpec], Mapping[str, Any]] = lambda _: {}
    """Defaults that are others in some environments."""

    def check_fits(self, environment: EnvSpec) -> None:
        """Make sure that the algorithm can act in `environment`.

        Raises:
            AlgorithmDoesNotFitError: if it can't.
        """
        if environment.action_kind not in self.action_kinds:
            needs = " or ".join(kind.replace("_", "-") for kind in self.action_kinds)
            has = environment.action_kind.replace("_", "-")
            raise AlgorithmDoesNotFitError(self.id, needs, environment.id, has)

    def complete(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Return every hyperparameter: the given values, checked, and the defaults of the rest.

        Raises:
            UnknownHyperparameterError: if a name is not one of this algorithm's.
            InputError: if a value is out of bounds or of the wrong type.
        """
        known = {parameter.name: parameter for parameter in self.hyperparameters}
        for name in given:
            if name not in known:
                raise UnknownHyperparameterError(self.id, name, known)
        return {
            name: parameter.check(given[name], field=f"hyperparameters.{name}")
            if name in given
            else parameter.default
            for name, parameter in known.items()
        }
