"""Preferences of a browser, in cookies that last a year."""

import re

from nicegui import ui

_ONE_YEAR_S = 31_536_000
_PLAIN = re.compile(r"[a-z]+")


def preference(name: str) -> str:
    """Return a preference of the browser that requested this page, or an empty text."""
    request = ui.context.client.request
    return request.cookies.get(name, "") if request is not None else ""


def save_preference(name: str, value: str) -> None:
    """Store a preference, one word, in this browser."""
    if not (_PLAIN.fullmatch(name) and _PLAIN.fullmatch(value)):
        raise ValueError(f"{name}={value} is not a plain word.")
    ui.run_javascript(
        f'document.cookie = "{name}={value}; path=/; samesite=strict; max-age={_ONE_YEAR_S}"'
    )
