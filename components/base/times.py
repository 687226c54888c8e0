"""Formatting of times."""

from datetime import datetime


def format_time(when: datetime | None) -> str:
    """Format a time in the local time zone; None is `-`."""
    return "-" if when is None else when.astimezone().strftime("%Y-%m-%d %H:%M")
