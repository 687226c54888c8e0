"""Orders of runs, and places in them; what was not measured comes last, either way."""

import base64
import binascii
from datetime import UTC, datetime
from typing import Any

from peewee import Expression, Field

from storage.database.tables.runs import RunRow
from storage.errors import BadCursorError

_LARGEST = 2**62


def in_order(sort: str) -> tuple[Any, ...]:
    """Return the order that `sort` names: a field, with - in front for falling."""
    field, falls = _field(sort), _falls(sort)
    order = (field.desc(), RunRow.id.desc()) if falls else (field, RunRow.id)
    return (field.is_null(), *order) if field.null else order


def beyond(cursor: str, sort: str) -> Expression:
    """Return what holds for the runs after the one for which a cursor was written.

    Raises:
        BadCursorError: if it was not written for this order.
    """
    text, run_id = _read_cursor(cursor, sort)
    field, value = _field(sort), _value(_field(sort), text)
    after = RunRow.id < run_id if _falls(sort) else RunRow.id > run_id
    if value is None:
        unmeasured: Expression = field.is_null() & after
        return unmeasured
    further = field < value if _falls(sort) else field > value
    found: Expression = further | ((field == value) & after)
    return found | field.is_null() if field.null else found


def write_cursor(row: RunRow, sort: str) -> str:
    """Return where a list of this order goes on after a run."""
    value = getattr(row, _field(sort).name)
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return base64.urlsafe_b64encode(f"{sort}|{row.id}|{text}".encode()).decode()


def _read_cursor(cursor: str, sort: str) -> tuple[str, str]:
    try:
        text = base64.urlsafe_b64decode(cursor.encode()).decode()
    except (binascii.Error, UnicodeError):
        raise BadCursorError from None
    order, _, rest = text.partition("|")
    run_id, _, value = rest.partition("|")
    if order != sort or not value:
        raise BadCursorError
    return value, run_id


def _field(sort: str) -> Field:
    field: Field = getattr(RunRow, sort.lstrip("-"))
    return field


def _falls(sort: str) -> bool:
    return sort.startswith("-")


def _value(field: Field, text: str) -> object:
    try:
        if field.name.endswith("_at"):
            return datetime.fromisoformat(text).astimezone(UTC)
        if field.name == "timesteps":
            return max(-_LARGEST, min(int(text), _LARGEST))
        if field.name in {"score", "elapsed_s"}:
            return None if field.null and text == "None" else float(text)
    except (ValueError, OverflowError):
        raise BadCursorError from None
    return text
