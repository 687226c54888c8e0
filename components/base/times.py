"""How pages write moments."""

from datetime import datetime


def moment(when: datetime | None) -> str:
    """Write a moment in local time, or that there was none."""
    return "-" if when is None else when.astimezone().strftime("%Y-%m-%d %H:%M")
