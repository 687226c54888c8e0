"""A form field for one hyperparameter, whatever its type."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from nicegui import ui
from nicegui.awaitable_response import AwaitableResponse, NullResponse
from nicegui.elements.mixins.validation_element import ValidationElement
from nicegui.elements.mixins.value_element import ValueElement

from app.catalog.algorithms.spec import Hyperparameter
from app.core.errors import InputError
from app.core.parameters import Parameter
from app.protocol.schedule import Schedule, read_schedule
from components.base.explain import with_hint
from components.base.schedule_curve import ScheduleCurve

Field = TypeVar("Field", bound=ValidationElement[Any])

_WITH_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_TEXT_PROPS = "dense outlined hide-bottom-space"
_SCHEDULE = "0.001 -> 0"
_LONGEST = 1_000
"""Of what is taken back from a browser."""


class TextInput(ui.input):
    """A text field that keeps what is typed while its page is still being opened."""

    def run_method(self, name: str, *args: Any, timeout: float = 1) -> AwaitableResponse:
        """Call a method in the browser; before it is connected, the page itself has the value.

        NiceGUI would queue `updateValue` for every value that is set while the page is built, and
        reset the field by it after somebody has typed.
        """
        if name == "updateValue" and not self.client.has_socket_connection:
            return NullResponse()
        return super().run_method(name, *args, timeout=timeout)


class HyperparameterField:
    """Shows the default, takes what a person types, says what is wrong with it, and goes back."""

    def __init__(
        self,
        parameter: Parameter,
        *,
        on_change: Callable[[], object],
        label: str = "",
    ) -> None:
        self._parameter = parameter
        self._label = label or parameter.name
        self._on_change = on_change
        self._is_schedulable = isinstance(parameter, Hyperparameter) and parameter.schedulable
        self._undo: ui.button | None = None
        self._curve: ScheduleCurve | None = None
        self.words = f"{self._label} {parameter.name} {parameter.description}".lower()
        """What the field can be found by."""
        with ui.element("div").classes("lab-knob") as self._box:
            self.element = self._make()
        self.element.props(f'aria-label="{self._label}"').mark(parameter.name)
        hint = " Or a schedule: 1e-3 -> 0." if self._is_schedulable else ""
        with self.element:
            ui.tooltip(parameter.description + hint).props("delay=400")
        if isinstance(self.element, ValidationElement):
            with_hint(self.element, parameter.description + hint)
        else:
            ui.label(parameter.description).classes("lab-explained")
        self._base, self._base_shown = self.value, self.element.value

    @property
    def value(self) -> object:
        """What was typed, in the hyperparameter's type where it can be read so."""
        raw = self.element.value
        if raw is None:
            raw = ""
        if not isinstance(raw, str) or self._parameter.type in ("choice", "text"):
            return raw
        if not raw.strip():
            return None if self._parameter.nullable else self._parameter.default
        if self._parameter.type == "layers":
            return read_layers(raw)
        if self._is_schedulable and ("->" in raw or ":" in raw):
            return raw
        return read_whole(raw) if self._parameter.type == "int" else read_number(raw)

    @property
    def is_filled(self) -> bool:
        """Whether anything was typed."""
        return self.element.value not in ("", None)

    @property
    def is_changed(self) -> bool:
        """Whether it is another value than was filled in."""
        return self.value != self._base

    def set(self, value: object) -> None:
        """Show a value as a person would type it; it is what the field goes back to."""
        element: ValueElement[Any] = self.element
        is_plain = self._parameter.type in ("bool", "choice")
        element.set_value(value if is_plain else write_value(value))
        self._base, self._base_shown = self.value, self.element.value
        self._show_state()

    def recall(self, shown: object) -> None:
        """Show again what was typed before; what can't have been is left out."""
        match self._parameter.type:
            case "bool":
                fits = isinstance(shown, bool)
            case "choice":
                fits = shown in (self._parameter.choices or ())
            case _:
                fits = isinstance(shown, str) and len(shown) <= _LONGEST
        if fits:
            element: ValueElement[Any] = self.element
            element.set_value(shown)

    def clear(self) -> None:
        """Show nothing."""
        self.set("")

    def problem(self, field: str) -> InputError | None:
        """Return what is wrong with the value alone, if anything is."""
        value = self.value
        if self._is_schedulable and isinstance(value, str) and self._schedule is None:
            # What the API says names forms that only programs write.
            return InputError(
                f"{self._label}: {self._parameter.expectation}, or {_SCHEDULE}.", field=field
            )
        try:
            self._parameter.check(value, field=field)
        except InputError as error:
            return error
        return None

    def say(self, error: str | None, *, called: str) -> None:
        """Show an error under the field, or none; a checkbox has no room for one.

        Programs have it `called` so, people read what stands on the field.
        """
        if error is not None and error.startswith(f"{called} must"):
            error = self._label + error.removeprefix(called)
        if isinstance(self.element, ValidationElement):
            self.element.error = error

    def set_visibility(self, visible: bool) -> None:
        """Show or hide it."""
        self._box.set_visibility(visible)

    def delete(self) -> None:
        """Take it off the page."""
        self._box.delete()

    def _changed(self) -> None:
        self._show_state()
        self._on_change()

    def _show_state(self) -> None:
        """Mark a value that was changed, and draw one that will change."""
        is_changed = self.is_changed
        self._box.classes(
            add="is-changed" if is_changed else "", remove="" if is_changed else "is-changed"
        )
        if is_changed and self._undo is None:
            self._undo = self._make_undo()
        if self._undo is not None:
            self._undo.set_visibility(is_changed)
        schedule = self._schedule
        if schedule is not None and self._curve is None:
            with self._box:
                self._curve = ScheduleCurve()
        if self._curve is not None:
            self._curve.show(schedule)

    @property
    def _schedule(self) -> Schedule | None:
        value = self.value
        return read_schedule(value) if self._is_schedulable and isinstance(value, str) else None

    def _make_undo(self) -> ui.button:
        with self._box:
            undo = ui.button("Undo", on_click=self._go_back, color=None)
            undo.props(f'flat dense no-caps aria-description="{self._label}"').classes(
                "lab-undo-one"
            )
            with undo:
                ui.tooltip("Back to what the preset or the default has")
        return undo

    def _go_back(self) -> None:
        element: ValueElement[Any] = self.element
        element.set_value(self._base_shown)

    def _make(self) -> ui.input | ui.select | ui.checkbox:
        name, default = self._label, self._parameter.default
        match self._parameter.type:
            case "bool":
                box = ui.checkbox(name, value=bool(default), on_change=self._changed)
                return box.props("dense")
            case "choice":
                choices = list(self._parameter.choices or ())
                select = ui.select(choices, label=name, value=default, on_change=self._changed)
                return checked_elsewhere(select).props(_TEXT_PROPS)
        text = write_value(default)
        field = checked_elsewhere(TextInput(name, value=text, on_change=self._changed))
        hint = "off" if self._parameter.nullable else ""
        return field.props(f'{_TEXT_PROPS} placeholder="{hint}" autocomplete=off')


def checked_elsewhere(field: Field) -> Field:
    """Keep a field from clearing, after each change, the error that the whole form found."""
    return field.without_auto_validation()


def number_input(label: str, value: str, on_change: Callable[[], object]) -> ui.input:
    """Return a field for a number, which may be typed as 3e-4 or 100,000."""
    field = checked_elsewhere(TextInput(label, value=value, on_change=on_change))
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


def read_layers(text: str) -> object:
    """Read sizes of layers, such as 64, 64; or pi: 64, 64; vf: 256 for each network's own."""
    if ":" not in text:
        return [read_whole(size) for size in text.split(",")]
    networks = (part.partition(":") for part in text.split(";"))
    return {
        name.strip(): [read_whole(size) for size in sizes.split(",")] for name, _, sizes in networks
    }


def write_value(value: object) -> str:
    """Write a value as a person would type it."""
    if value is None:
        return ""
    if isinstance(value, dict | Schedule):
        schedule = read_schedule(value)
        return str(schedule) if schedule is not None else _write_layers(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _write_layers(networks: Any) -> str:  # noqa: ANN401 - a run's own values
    return "; ".join(f"{name}: {write_value(sizes)}" for name, sizes in networks.items())
