"""Sort orders of runs and cursors in them; null values come last in both directions."""

import base64
import binascii
from datetime import UTC, datetime
from typing import Any

from peewee import Expression, Field

from storage import BadCursorError
from storage.database.tables import RunRow

_LARGEST = 2**62


def ordering(sort: str) -> tuple[Any, ...]:
    """Return the ORDER BY terms for `sort`: a field name, prefixed with - for descending."""
    field, is_descending = _field(sort), _is_descending(sort)
    order = (field.desc(), RunRow.id.desc()) if is_descending else (field, RunRow.id)
    return (field.is_null(), *order) if field.null else order


def after_cursor(cursor: str, sort: str) -> Expression:
    """Return the condition for the runs after the one that a cursor points to.

    Raises:
        BadCursorError: if the cursor was not issued for this order.
    """
    text, run_id = _read_cursor(cursor, sort)
    field, value = _field(sort), _value(_field(sort), text)
    after = RunRow.id < run_id if _is_descending(sort) else RunRow.id > run_id
    if value is None:
        unmeasured: Expression = field.is_null() & after
        return unmeasured
    further = field < value if _is_descending(sort) else field > value
    found: Expression = further | ((field == value) & after)
    return found | field.is_null() if field.null else found


def write_cursor(row: RunRow, sort: str) -> str:
    """Return the cursor that continues a list of this order after a run."""
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


def _is_descending(sort: str) -> bool:
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
