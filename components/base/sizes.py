"""How pages write sizes and read limits."""

from app.core.errors import InputError

_MB = 1 << 20
_GB = 1 << 30


def megabytes(count: int) -> str:
    """Write a number of bytes."""
    if count >= _GB:
        return f"{count / _GB:,.1f} GB"
    return f"{count / _MB:,.1f} MB"


def read_limit(text: str | None, field: str) -> int | None:
    """Read a limit that a person typed; empty means none.

    Raises:
        InputError: if it is no whole number.
    """
    plain = (text or "").strip().replace(",", "")
    if not plain:
        return None
    if not plain.isdecimal():
        raise InputError(f"{field} must be a whole number or empty, got {plain!r}.", field=field)
    return int(plain)


def kilobytes(count: int) -> str:
    """Write a number of bytes of a small file."""
    return f"{count / 1024:,.1f} kB"


def file_size(count: int) -> str:
    """Write a number of bytes of a file that may be small or large."""
    return kilobytes(count) if count < _MB else megabytes(count)
