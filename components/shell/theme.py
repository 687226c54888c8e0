"""The look of the lab; every value is in theme.css."""

from enum import StrEnum
from pathlib import Path

from nicegui import ui

from components.shell.remembered import remember, remembered

STYLESHEET_URL = "/theme.css"
STYLESHEET = Path(__file__).with_suffix(".css")

_COOKIE = "theme"


class Theme(StrEnum):
    """Light by default, dark on request, or as the system has it."""

    LIGHT = "light"
    DARK = "dark"
    AUTO = "auto"

    @property
    def following(self) -> "Theme":
        """The theme that the switch goes to from this one."""
        order = list(Theme)
        return order[(order.index(self) + 1) % len(order)]


_IS_DARK: dict[Theme, bool | None] = {Theme.LIGHT: False, Theme.DARK: True, Theme.AUTO: None}


class ThemeSwitch:
    """A button that goes through the themes; the browser remembers the choice in a cookie."""

    def __init__(self) -> None:
        self._theme = _chosen()
        self._dark_mode = ui.dark_mode(_IS_DARK[self._theme])
        self._button = ui.button(self._theme.value, on_click=self._switch, color=None)
        self._button.props("flat no-caps").classes("lab-icon-button")
        with self._button:
            ui.tooltip("Theme: light, dark or as the system has it")
        self._show()

    def _switch(self) -> None:
        self._theme = self._theme.following
        self._dark_mode.set_value(_IS_DARK[self._theme])
        self._show()
        remember(_COOKIE, self._theme.value)

    def _show(self) -> None:
        self._button.set_text(self._theme.value)
        self._button.props(f'aria-label="Theme: {self._theme.value}"')


def _chosen() -> Theme:
    value = remembered(_COOKIE)
    return Theme(value) if value in set(Theme) else Theme.LIGHT
