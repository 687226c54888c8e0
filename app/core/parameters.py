"""Parameters that users can set: name, type, bounds, default and description."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from app.core.errors import InputError, shorten

_MAX_LAYERS = 8

Layers = tuple[int, ...] | dict[str, tuple[int, ...]]
"""Sizes of hidden layers: for all networks, or by network name where they differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter."""

    name: str
    type: Literal["float", "int", "bool", "choice", "layers", "text"]
    default: Any
    description: str
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] | None = None
    nullable: bool = False
    """Whether None (`null`) is allowed: it switches the feature off."""
    networks: tuple[str, ...] = ()
    """Names (as in SB3) of the networks that may have their own layer sizes."""

    def check(self, value: object, *, field: str) -> Any:  # noqa: ANN401 - a value of its type
        """Return `value` converted to this parameter's type.

        Raises:
            InputError: if its type is wrong or it is out of bounds.
        """
        if value is None and self.nullable:
            return None
        checked = _TYPE_CHECKS[self.type](self, value)
        if checked is None:
            raise InputError(
                f"{self.name} must be {self.expectation}, got {shorten(value)}.", field=field
            )
        return checked

    @property
    def expectation(self) -> str:
        """The allowed values in words."""
        match self.type:
            case "bool":
                words = "true or false"
            case "choice":
                words = f"one of {', '.join(self.choices or ())}"
            case "text":
                words = f"text of at most {self.max:g} characters"
            case "layers":
                words = (
                    f"a list of 0 to {_MAX_LAYERS} layer sizes from {self.min:g} to {self.max:g}"
                )
                if self.networks:
                    words += f", or one for each of {' and '.join(self.networks)}"
            case _:
                kind = "a whole number" if self.type == "int" else "a number"
                words = f"{kind} from {_plain(self.min)} to {_plain(self.max)}"
        return f"{words}, or null" if self.nullable else words

    def is_within(self, number: float) -> bool:
        """Whether a number lies between the bounds."""
        return (self.min is None or number >= self.min) and (self.max is None or number <= self.max)

    def _as_float(self, value: object) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        # Bounds first: math.isfinite raises OverflowError for an int beyond the float range.
        return float(value) if self.is_within(value) and math.isfinite(value) else None

    def _as_int(self, value: object) -> int | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return value if self.is_within(value) else None

    def _as_bool(self, value: object) -> bool | None:
        return value if isinstance(value, bool) else None

    def _as_choice(self, value: object) -> str | None:
        return value if isinstance(value, str) and value in (self.choices or ()) else None

    def _as_text(self, value: object) -> str | None:
        return value if isinstance(value, str) and self.is_within(len(value)) else None

    def _as_layers(self, value: object) -> Layers | None:
        if not isinstance(value, dict):
            return self._as_sizes(value)
        if set(value) != set(self.networks):
            return None
        each = {name: self._as_sizes(value[name]) for name in self.networks}
        valid = {name: sizes for name, sizes in each.items() if sizes is not None}
        if len(valid) < len(each):
            return None
        # Equal sizes are stored as one plain list, so that configurations can be compared.
        return valid if len(set(valid.values())) > 1 else valid[self.networks[0]]

    def _as_sizes(self, value: object) -> tuple[int, ...] | None:
        if not isinstance(value, list | tuple) or len(value) > _MAX_LAYERS:
            return None
        sizes = [self._as_int(size) for size in value]
        return None if None in sizes else tuple(size for size in sizes if size is not None)


_TYPE_CHECKS: dict[str, Callable[[Parameter, object], object]] = {
    "float": Parameter._as_float,
    "int": Parameter._as_int,
    "bool": Parameter._as_bool,
    "choice": Parameter._as_choice,
    "text": Parameter._as_text,
    "layers": Parameter._as_layers,
}


def _plain(number: float | None) -> str:
    if number is None:
        return "any"
    return f"{number:,.0f}" if number >= 10_000 else f"{number:g}"
