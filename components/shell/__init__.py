"""Parts around the content of every page: theme, keyboard shortcuts, help, the tour."""

from components.shell.help import help_dialog
from components.shell.preferences import preference, save_preference
from components.shell.theme import STYLESHEET, STYLESHEET_URL, ThemeSwitch
from components.shell.tour import Tour
from components.shell.welcome import Welcome

__all__ = [
    "STYLESHEET",
    "STYLESHEET_URL",
    "ThemeSwitch",
    "Tour",
    "Welcome",
    "help_dialog",
    "preference",
    "save_preference",
]
