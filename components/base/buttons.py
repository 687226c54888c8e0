"""The kinds of buttons."""

from collections.abc import Callable
from typing import Any

from nicegui import ui


def primary_button(text: str, on_click: Callable[[], Any]) -> ui.button:
    """Add a filled button; a panel has at most one."""
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes("lab-button lab-primary is-alone")


def quiet_button(text: str, on_click: Callable[[], Any], *, label: str = "") -> ui.button:
    """Add a small flat button; `label` names its object for screen readers."""
    button = ui.button(text, on_click=on_click, color=None)
    button.props("flat dense no-caps").classes("lab-small")
    if label:
        # Not through `props`, which would parse quotes in a name as its own syntax.
        button._props["aria-label"] = f"{text} {label}"
    return button


def compact_button(text: str, on_click: Callable[[], Any]) -> ui.button:
    """Add a compact outlined button; several fit into a row."""
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes("lab-button lab-compact lab-quiet")


def mark_pressed(button: ui.button, *, on: bool) -> None:
    """Show whether a toggle button is pressed."""
    button.props(f"aria-pressed={'true' if on else 'false'}")
    button.classes(add="is-on" if on else "", remove="" if on else "is-on")
