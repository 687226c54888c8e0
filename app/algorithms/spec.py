"""What the lab knows about an algorithm and its hyperparameters."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.environments.spec import ActionKind, EnvSpec
from app.errors import (
    AlgorithmDoesNotFitError,
    InputError,
    UnknownHyperparameterError,
    short,
)

Value = float | int | bool | str | tuple[int, ...] | None
"""What a hyperparameter can be set to."""

_MAX_LAYERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperparameter:
    """One knob: its type, bounds, default and what it does."""

    name: str
    type: Literal["float", "int", "bool", "choice", "layers"]
    default: Value
    description: str
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] | None = None
    scale: Literal["linear", "log"] = "linear"
    nullable: bool = False
    """Whether None (written `null`) is a value: it switches the feature off."""
    schedulable: bool = False

    def check(self, value: object, *, field: str) -> Value:
        """Return `value` in this hyperparameter's type.

        Raises:
            InputError: if it has another type or lies outside the bounds.
        """
        if value is None and self.nullable:
            return None
        checked = _TYPE_CHECKS[self.type](self, value)
        if checked is None:
            raise InputError(
                f"{self.name} must be {self.expectation}, got {short(value)}.", field=field
            )
        return checked

    @property
    def expectation(self) -> str:
        """Say in words what values are allowed."""
        match self.type:
            case "bool":
                words = "true or false"
            case "choice":
                words = f"one of {', '.join(self.choices or ())}"
            case "layers":
                words = (
                    f"a list of 1 to {_MAX_LAYERS} layer sizes from {self.min:g} to {self.max:g}"
                )
            case _:
                kind = "a whole number" if self.type == "int" else "a number"
                words = f"{kind} from {_plain(self.min)} to {_plain(self.max)}"
        return f"{words}, or null" if self.nullable else words

    def _is_within(self, number: float) -> bool:
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)

    def _as_float(self, value: object) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        # Bounds first: a whole number beyond all floats can't even be asked whether it is finite.
        return float(value) if self._is_within(value) and math.isfinite(value) else None

    def _as_int(self, value: object) -> int | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return value if self._is_within(value) else None

    def _as_bool(self, value: object) -> bool | None:
        return value if isinstance(value, bool) else None

    def _as_choice(self, value: object) -> str | None:
        return value if isinstance(value, str) and value in (self.choices or ()) else None

    def _as_layers(self, value: object) -> tuple[int, ...] | None:
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= _MAX_LAYERS:
            return None
        sizes = [self._as_int(size) for size in value]
        return None if None in sizes else tuple(size for size in sizes if size is not None)


_TYPE_CHECKS = {
    "float": Hyperparameter._as_float,
    "int": Hyperparameter._as_int,
    "bool": Hyperparameter._as_bool,
    "choice": Hyperparameter._as_choice,
    "layers": Hyperparameter._as_layers,
}


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


def _plain(number: float | None) -> str:
    if number is None:
        return "any"
    return f"{number:,.0f}" if number >= 10_000 else f"{number:g}"
