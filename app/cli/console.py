"""Console output of commands: lines, tables, numbers."""

import sys
from collections.abc import Sequence

MISSING = "-"
"""Shown for values that were not measured."""


def say(text: str) -> None:
    """Write a line and flush."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, with numbers right-aligned."""
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
    """Format a number; None as missing."""
    return MISSING if value is None else f"{value:,.{decimals}f}"


def duration(seconds: float | None) -> str:
    """Format seconds as 0:42, 12:05 or 3:10:59."""
    if seconds is None:
        return MISSING
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(count: float) -> str:
    """Format a number of bytes."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1_000:
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1_000
    return f"{count:,.1f} GB"


def _is_numbers(column: Sequence[str]) -> bool:
    return all(set(cell) <= set("0123456789,.:-") for cell in column)
