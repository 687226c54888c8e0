"""A form field for one hyperparameter, whatever its type."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement
from nicegui.elements.mixins.value_element import ValueElement

from app.algorithms.schedule import read_schedule
from app.algorithms.spec import Hyperparameter
from app.parameters import Parameter

Field = TypeVar("Field", bound=ValidationElement[Any])

_WITH_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_TEXT_PROPS = "dense outlined hide-bottom-space"


class HyperparameterField:
    """Shows the default, takes what a person types, and says what is wrong with it."""

    def __init__(
        self,
        parameter: Parameter,
        *,
        on_change: Callable[[], object],
        label: str = "",
    ) -> None:
        self._parameter = parameter
        self._label = label or parameter.name
        self._is_schedulable = isinstance(parameter, Hyperparameter) and parameter.schedulable
        self.element = self._make(on_change)
        self.element.props(f'aria-label="{self._label}"').mark(parameter.name)
        hint = " Or a schedule: 1e-3 -> 0." if self._is_schedulable else ""
        with self.element:
            ui.tooltip(parameter.description + hint).props("delay=400")

    @property
    def value(self) -> object:
        """What was typed, in the hyperparameter's type where it can be read so."""
        raw = self.element.value
        if not isinstance(raw, str) or self._parameter.type in ("choice", "text"):
            return raw
        if not raw.strip():
            return None if self._parameter.nullable else self._parameter.default
        if self._parameter.type == "layers":
            return [read_whole(part) for part in raw.split(",")]
        if self._is_schedulable and ("->" in raw or ":" in raw):
            return raw
        return read_whole(raw) if self._parameter.type == "int" else read_number(raw)

    @property
    def is_filled(self) -> bool:
        """Whether anything was typed."""
        return self.element.value not in ("", None)

    def set(self, value: object) -> None:
        """Show a value as a person would type it."""
        element: ValueElement[Any] = self.element
        is_plain = self._parameter.type in ("bool", "choice")
        element.set_value(value if is_plain else write_value(value))

    def clear(self) -> None:
        """Show nothing."""
        element: ValueElement[Any] = self.element
        element.set_value("")

    def say(self, error: str | None) -> None:
        """Show an error under the field, or none; a checkbox has no room for one."""
        if isinstance(self.element, ValidationElement):
            self.element.error = error

    def _make(self, on_change: Callable[[], object]) -> ui.input | ui.select | ui.checkbox:
        name, default = self._label, self._parameter.default
        match self._parameter.type:
            case "bool":
                return ui.checkbox(name, value=bool(default), on_change=on_change).props("dense")
            case "choice":
                choices = list(self._parameter.choices or ())
                select = ui.select(choices, label=name, value=default, on_change=on_change)
                return checked_elsewhere(select).props(_TEXT_PROPS)
        field = checked_elsewhere(ui.input(name, value=write_value(default), on_change=on_change))
        hint = "off" if self._parameter.nullable else ""
        return field.props(f'{_TEXT_PROPS} placeholder="{hint}" autocomplete=off')


def checked_elsewhere(field: Field) -> Field:
    """Keep a field from clearing, after each change, the error that the whole form found."""
    return field.without_auto_validation()


def number_input(label: str, value: str, on_change: Callable[[], object]) -> ui.input:
    """Return a field for a number, which may be typed as 3e-4 or 100,000."""
    field = checked_elsewhere(ui.input(label, value=value, on_change=on_change))
    return field.props(f"{_TEXT_PROPS} autocomplete=off inputmode=decimal").mark(
        label.replace(" ", "_")
    )


def read_number(text: str) -> object:
    """Read a number as people type it; what could mean two things stays text, to be refused.

    A comma only separates thousands: 100,000 is a number, 0,001 is none.
    """
    plain = text.strip()
    if _WITH_THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    try:
        number = float(plain)
    except ValueError:
        return text
    return int(number) if number.is_integer() and "." not in plain else number


def read_whole(text: str) -> object:
    """Read a whole number; 100.000 could mean two things, so it is none."""
    return text if "." in text and "e" not in text.lower() else read_number(text)


def write_value(value: object) -> str:
    """Write a value as a person would type it."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return str(read_schedule(value))
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
