"""Formatting of sizes and parsing of limits."""

from app.core import InputError

_MB = 1 << 20
_GB = 1 << 30


def megabytes(count: int) -> str:
    """Format a number of bytes in MB or GB."""
    if count >= _GB:
        return f"{count / _GB:,.1f} GB"
    return f"{count / _MB:,.1f} MB"


def read_limit(text: str | None, field: str) -> int | None:
    """Parse a limit that a user typed; empty means none.

    Raises:
        InputError: if it isn't a whole number.
    """
    plain = (text or "").strip().replace(",", "")
    if not plain:
        return None
    if not plain.isdecimal():
        raise InputError(f"{field} must be a whole number or empty, got {plain!r}.", field=field)
    return int(plain)


def kilobytes(count: int) -> str:
    """Format a number of bytes in kB."""
    return f"{count / 1024:,.1f} kB"


def file_size(count: int) -> str:
    """Format a number of bytes in kB, MB or GB, whichever fits."""
    return kilobytes(count) if count < _MB else megabytes(count)
