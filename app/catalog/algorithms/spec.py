"""The description of an algorithm and its hyperparameters."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from app.catalog.environments import ActionKind, EnvSpec
from app.core import (
    AlgorithmDoesNotFitError,
    InputError,
    Layers,
    Parameter,
    UnknownHyperparameterError,
    shorten,
)
from app.protocol import SCHEDULE_FORMS, Schedule, plain_number, read_schedule

Value = float | int | bool | str | Layers | Schedule | None
"""The value of a hyperparameter."""


_TUNED_FROM = re.compile(r"auto_(\d{1,9}(?:\.\d{0,9})?(?:e-?\d{1,2})?)", re.ASCII)


class Family(StrEnum):
    """The data from which an algorithm learns."""

    ROLLOUT = "rollout"
    """The newest rollout: on-policy."""
    REPLAY = "replay"
    """A replay buffer: off-policy."""
    SEARCH = "search"
    """The returns of complete episodes, without gradients."""


class Group(StrEnum):
    """The groups of hyperparameters, in the order of the form."""

    OPTIMISATION = "Optimization"
    EXPERIENCE = "Rollout and replay"
    EXPLORATION = "Exploration"
    NETWORK = "Network"
    """Arguments of the policy rather than of the algorithm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperparameter(Parameter):
    """One hyperparameter of an algorithm."""

    group: Group = Group.OPTIMISATION

    scale: Literal["linear", "log"] = "linear"
    schedulable: bool = False
    """Whether it may follow a schedule over the run."""
    tunable: bool = False
    """Whether it may be tuned automatically from a value on, as in `auto_0.1`."""

    def check(self, value: object, *, field: str) -> Value:
        """Return `value` in this hyperparameter's type, or as a schedule.

        Raises:
            InputError: if it has the wrong type or is out of bounds.
        """
        if self.schedulable and isinstance(value, str | Mapping | Schedule):
            return self._check_schedule(value, field=field)
        if self.tunable and isinstance(value, str):
            return self._check_tuned(value, field=field)
        checked: Value = Parameter.check(self, value, field=field)
        return checked

    def _check_tuned(self, value: str, *, field: str) -> str | None:
        """Return SB3's notation of a value from which this one is tuned; None: from the default."""
        if value == "auto":
            return None
        found = _TUNED_FROM.fullmatch(value)
        first = float(found[1]) if found else 0.0
        if not first or not self.is_within(first):
            raise InputError(
                f"{self.name} must be {self.expectation}, or auto_0.1 to tune it from 0.1 on; "
                f"got {shorten(value)}.",
                field=field,
            )
        return f"auto_{plain_number(first)}"

    def _check_schedule(self, value: object, *, field: str) -> Schedule:
        schedule = read_schedule(value)
        if schedule is None:
            raise InputError(
                f"{self.name} must be {self.expectation}, or a schedule such as {SCHEDULE_FORMS}; "
                f"got {shorten(value)}.",
                field=field,
            )
        if self.min is not None and self.min > 0 and not any(v for _, v in schedule.points):
            raise InputError(f"{self.name} is 0 all the time with this schedule.", field=field)
        for _, number in schedule.points:
            # A schedule may end at 0 even if a constant 0 is not allowed.
            if number != 0 and not self.is_within(number):
                raise InputError(
                    f"{self.name} must be {self.expectation} at every point of its schedule, "
                    f"got {number:g}.",
                    field=field,
                )
        return schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmCard:
    """Help for choosing and tuning an algorithm."""

    idea: str
    when: str
    first: tuple[str, ...]
    """The hyperparameters to change first."""
    how: str
    """The direction in which to change them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmSpec:
    """The properties of one algorithm that the lab shows and checks."""

    id: str
    name: str
    summary: str
    card: AlgorithmCard
    family: Family
    library: Literal["stable_baselines3", "sb3_contrib"] = "stable_baselines3"
    """The package of its class."""
    is_in_fast_engine: bool = False
    masks_actions: bool = False
    """Whether it uses the environment's action masks."""
    samples_actions: bool = True
    """Whether its policy can sample actions; otherwise each observation has only one."""
    exports_to_onnx: bool = False
    """Whether its policy, made of dense layers, can be exported as ONNX."""
    action_kinds: tuple[ActionKind, ...]
    hyperparameters: tuple[Hyperparameter, ...]
    default_n_envs: int
    """Default number of parallel environments."""
    check_together: Callable[[Mapping[str, Any], int, EnvSpec], None]
    """Refuses invalid combinations of values, given n_envs and the environment."""

    defaults_for: Callable[[EnvSpec], Mapping[str, Any]] = lambda _: {}
    """Defaults that depend on the environment."""

    def check_fits(self, environment: EnvSpec) -> None:
        """Check that the algorithm can act in `environment`.

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
