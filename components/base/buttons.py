"""Buttons as the lab has them."""

from collections.abc import Callable
from typing import Any

from nicegui import ui


def primary_button(text: str, on_click: Callable[[], Any]) -> ui.button:
    """Add the one filled button of a panel."""
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes("lab-button lab-primary is-alone")


def quiet_button(text: str, on_click: Callable[[], Any], *, label: str = "") -> ui.button:
    """Add a button that takes little room; `label` says what it is about, to who only listens."""
    button = ui.button(text, on_click=on_click, color=None)
    button.props("flat dense no-caps").classes("lab-small")
    if label:
        # Not by `props`, which would read the quotes of a name as its own.
        button._props["aria-label"] = f"{text} {label}"
    return button


def compact_button(text: str, on_click: Callable[[], Any]) -> ui.button:
    """Add an outlined button of which several fit into a row."""
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes("lab-button lab-compact lab-quiet")


def mark_pressed(button: ui.button, *, on: bool) -> None:
    """Show whether a button that chooses something is the chosen one."""
    button.props(f"aria-pressed={'true' if on else 'false'}")
    button.classes(add="is-on" if on else "", remove="" if on else "is-on")
