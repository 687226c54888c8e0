"""Text notation of settings: whatever is written here can be typed into a form again."""

import re
from collections.abc import Mapping

from app.protocol import Schedule, plain_number, read_schedule

NO_VALUE = "-"
NO_LAYERS = "none"
_WITH_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")


def write_value(value: object, *, nothing: str = NO_VALUE) -> str:
    """Write a value as a form accepts it; `nothing` stands for an unset or empty value."""
    match value:
        case bool():
            return "on" if value else "off"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,}".removesuffix(".0")
        case Schedule() | Mapping():
            schedule = read_schedule(value)
            words = _write_mapping(value) if isinstance(value, Mapping) else ""
            return (words if schedule is None else str(schedule)) or nothing
        case list() | tuple():
            return ", ".join(map(_write_item, value)) or nothing
    return nothing if value is None else str(value) or nothing


def _write_mapping(values: Mapping[str, object]) -> str:
    return "; ".join(f"{name}: {write_value(value)}" for name, value in values.items())


def _write_item(value: object) -> str:
    """Write an item of a comma-separated list, without a comma of its own."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return write_value(value)
    return plain_number(value)


def read_number(text: str) -> object:
    """Read a number as users type it; ambiguous input stays text, to be refused later.

    A comma only separates thousands: 100,000 is a number, 0,001 is not.
    """
    plain = text.strip()
    if _WITH_THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    try:
        number = float(plain)
    except ValueError:
        return text
    return int(number) if number.is_integer() and "." not in plain else number


def read_whole(text: str) -> object:
    """Read a whole number; 100.000 is ambiguous, so it stays text."""
    return text if "." in text and "e" not in text.lower() else read_number(text)


def read_layers(text: str) -> object:
    """Read layer sizes such as `64, 64`, `none`, or `pi: 64, 64; vf: 256` for separate networks."""
    if ":" not in text:
        return _read_sizes(text)
    networks = (part.partition(":") for part in text.split(";"))
    return {name.strip(): _read_sizes(sizes) for name, _, sizes in networks}


def _read_sizes(text: str) -> list[object]:
    is_empty = text.strip() in (NO_LAYERS, NO_VALUE)
    return [] if is_empty else [read_whole(size) for size in text.split(",")]
