"""Light and dark theme; all values are in theme.css."""

from enum import StrEnum
from pathlib import Path

from nicegui import ui

from components.shell.preferences import preference, save_preference

STYLESHEET_URL = "/theme.css"
STYLESHEET = Path(__file__).with_suffix(".css")

_COOKIE = "theme"


class Theme(StrEnum):
    """Light (default), dark, or the setting of the system."""

    LIGHT = "light"
    DARK = "dark"
    AUTO = "auto"

    @property
    def following(self) -> "Theme":
        """The next theme of the switch."""
        order = list(Theme)
        return order[(order.index(self) + 1) % len(order)]


_IS_DARK: dict[Theme, bool | None] = {Theme.LIGHT: False, Theme.DARK: True, Theme.AUTO: None}


class ThemeSwitch:
    """A button that cycles through the themes; a cookie stores the choice."""

    def __init__(self) -> None:
        self._theme = _chosen()
        self._dark_mode = ui.dark_mode(_IS_DARK[self._theme])
        self._button = ui.button(self._theme.value, on_click=self._switch, color=None)
        self._button.props("flat no-caps").classes("lab-icon-button")
        with self._button:
            ui.tooltip("Theme: light, dark or system")
        self._show()

    def _switch(self) -> None:
        self._theme = self._theme.following
        self._dark_mode.set_value(_IS_DARK[self._theme])
        self._show()
        save_preference(_COOKIE, self._theme.value)

    def _show(self) -> None:
        self._button.set_text(self._theme.value)
        self._button.props(f'aria-label="Theme: {self._theme.value}"')


def _chosen() -> Theme:
    value = preference(_COOKIE)
    return Theme(value) if value in set(Theme) else Theme.LIGHT
