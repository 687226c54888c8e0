"""How the commands write: lines, tables, numbers."""

import sys
from collections.abc import Sequence

MISSING = "-"
"""What stands where nothing was measured."""


def say(text: str) -> None:
    """Write a line, now."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows below their titles, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    is_right = [_is_numbers(column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_right, strict=True)
        ).rstrip()
        for row in (titles, *rows)
    )


def number(value: float | None, decimals: int = 1) -> str:
    """Write a number, or that there is none."""
    return MISSING if value is None else f"{value:,.{decimals}f}"


def duration(seconds: float | None) -> str:
    """Write seconds as 0:42, 12:05 or 3:10:59."""
    if seconds is None:
        return MISSING
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(count: float) -> str:
    """Write a number of bytes."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1_000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1_000
    return f"{count:,.1f} GB"


def _is_numbers(column: Sequence[str]) -> bool:
    return all(set(cell) <= set("0123456789,.:-") for cell in column)
