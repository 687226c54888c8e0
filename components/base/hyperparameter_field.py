"""A form field for one hyperparameter, whatever its type."""

from collections.abc import Callable
from typing import Any, TypeVar

from nicegui import ui
from nicegui.awaitable_response import AwaitableResponse, NullResponse
from nicegui.elements.mixins.validation_element import ValidationElement
from nicegui.elements.mixins.value_element import ValueElement

from app.catalog.algorithms import Hyperparameter
from app.core import (
    NO_LAYERS,
    InputError,
    Parameter,
    read_layers,
    read_number,
    read_whole,
    write_value,
)
from app.protocol import Schedule, read_schedule
from components.base.explain import with_hint
from components.base.schedule_curve import ScheduleCurve

Field = TypeVar("Field", bound=ValidationElement[Any])

_TEXT_PROPS = "dense outlined hide-bottom-space"
_SCHEDULE = "0.001 -> 0"
_MAX_LENGTH = 1_000
"""Limit on a text that a browser restores."""


class TextInput(ui.input):
    """A text field that keeps what the user types while its page is loading."""

    def run_method(self, name: str, *args: Any, timeout: float = 1) -> AwaitableResponse:
        """Call a method in the browser; skip `updateValue` before the browser is connected.

        The page itself contains the value by then. NiceGUI would queue `updateValue` for every
        value that is set while the page is built, and so overwrite what the user has typed.
        """
        if name == "updateValue" and not self.client.has_socket_connection:
            return NullResponse()
        return super().run_method(name, *args, timeout=timeout)


class HyperparameterField:
    """An input that starts with the default, shows errors, and can be reset."""

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
        self.search_text = f"{self._label} {parameter.name} {parameter.description}".lower()
        """The text that a search of the settings matches against."""
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
        """The input, converted to the hyperparameter's type where possible."""
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
        """Whether the field has any input."""
        return self.element.value not in ("", None)

    @property
    def is_changed(self) -> bool:
        """Whether the value differs from the one that was filled in."""
        return self.value != self._base

    def set(self, value: object) -> None:
        """Fill in a value as a user would type it; undo resets the field to it."""
        element: ValueElement[Any] = self.element
        is_plain = self._parameter.type in ("bool", "choice")
        nothing = NO_LAYERS if self._parameter.type == "layers" else ""
        element.set_value(value if is_plain else write_value(value, nothing=nothing))
        self._base, self._base_shown = self.value, self.element.value
        self._show_state()

    def restore(self, shown: object) -> None:
        """Restore an earlier input; ignore one that is not valid for the type."""
        match self._parameter.type:
            case "bool":
                fits = isinstance(shown, bool)
            case "choice":
                fits = shown in (self._parameter.choices or ())
            case _:
                fits = isinstance(shown, str) and len(shown) <= _MAX_LENGTH
        if fits:
            element: ValueElement[Any] = self.element
            element.set_value(shown)

    def clear(self) -> None:
        """Empty the field."""
        self.set("")

    def problem(self, field: str) -> InputError | None:
        """Return the error of the value, checked on its own, if any."""
        value = self.value
        if self._is_schedulable and isinstance(value, str) and self._schedule is None:
            # The API's message also names notations that only programs use.
            return InputError(
                f"{self._label}: {self._parameter.expectation}, or {_SCHEDULE}.", field=field
            )
        try:
            self._parameter.check(value, field=field)
        except InputError as error:
            return error
        return None

    def show_error(self, error: str | None, *, api_name: str) -> None:
        """Show an error under the field, or none; a checkbox can't show any.

        The label of the field replaces `api_name` at the start of the message.
        """
        if error is not None and error.startswith(f"{api_name} must"):
            error = self._label + error.removeprefix(api_name)
        if isinstance(self.element, ValidationElement):
            self.element.error = error

    def set_visibility(self, visible: bool) -> None:
        """Show or hide the field."""
        self._box.set_visibility(visible)

    def delete(self) -> None:
        """Remove the field from the page."""
        self._box.delete()

    def _changed(self) -> None:
        self._show_state()
        self._on_change()

    def _show_state(self) -> None:
        """Mark a changed value, and draw the curve of a schedule."""
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
            undo = ui.button("Undo", on_click=self._reset, color=None)
            undo.props(f'flat dense no-caps aria-description="{self._label}"').classes(
                "lab-undo-one"
            )
            with undo:
                ui.tooltip("Reset to the value of the preset or the default")
        return undo

    def _reset(self) -> None:
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
        text = write_value(default, nothing="")
        field = checked_elsewhere(TextInput(name, value=text, on_change=self._changed))
        hint = "off" if self._parameter.nullable else ""
        return field.props(f'{_TEXT_PROPS} placeholder="{hint}" autocomplete=off')


def checked_elsewhere(field: Field) -> Field:
    """Keep NiceGUI from clearing, after each change, an error that the form's check found."""
    return field.without_auto_validation()


def number_input(label: str, value: str, on_change: Callable[[], object]) -> ui.input:
    """Return a field for a number, which may be typed as 3e-4 or 100,000."""
    field = checked_elsewhere(TextInput(label, value=value, on_change=on_change))
    return field.props(f"{_TEXT_PROPS} autocomplete=off inputmode=decimal").mark(
        label.replace(" ", "_")
    )
