"""How pages write sizes and read limits."""

from app.errors import InputError

_MB = 1 << 20


def megabytes(count: int) -> str:
    """Write a number of bytes."""
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
