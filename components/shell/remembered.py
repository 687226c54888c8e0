"""What a browser remembers of its person: small choices, in cookies that last a year."""

import re

from nicegui import ui

_ONE_YEAR_S = 31_536_000
_PLAIN = re.compile(r"[a-z]+")


def remembered(name: str) -> str:
    """Return what the browser that asks for this page remembers, or an empty text."""
    request = ui.context.client.request
    return request.cookies.get(name, "") if request is not None else ""


def remember(name: str, value: str) -> None:
    """Let this browser remember a word."""
    if not (_PLAIN.fullmatch(name) and _PLAIN.fullmatch(value)):
        raise ValueError(f"{name}={value} is no plain word.")
    ui.run_javascript(
        f'document.cookie = "{name}={value}; path=/; samesite=strict; max-age={_ONE_YEAR_S}"'
    )
