"""Read and write the event log of a run."""

from collections.abc import Sequence
from datetime import UTC, datetime

from storage.database.tables import EventRow, record_of
from storage.records import EventLevel, EventRecord, JsonObject

_ROWS_PER_INSERT = 100
"""Rows per statement: databases limit the number of values."""


def add_event(
    run_id: str,
    event_type: str,
    message: str,
    *,
    level: EventLevel = EventLevel.INFO,
    data: JsonObject | None = None,
) -> EventRecord:
    """Append one event and return it."""
    row = EventRow.create(
        run=run_id,
        timestamp=datetime.now(UTC),
        event_type=event_type,
        level=level,
        message=message,
        data=dict(data or {}),
    )
    return record_of(EventRecord, row)


def add_past_events(run_id: str, entries: Sequence[JsonObject]) -> None:
    """Add the imported event log of a run, oldest first."""
    for begin in range(0, len(entries), _ROWS_PER_INSERT):
        part = entries[begin : begin + _ROWS_PER_INSERT]
        EventRow.insert_many([{**entry, "run": run_id} for entry in part]).execute()


def list_events(
    run_id: str, *, after: int | None = None, before: int | None = None, limit: int = 200
) -> tuple[EventRecord, ...]:
    """Return a run's events, newest first: those with an id above `after` and below `before`."""
    query = EventRow.select().where(EventRow.run == run_id)
    if after is not None:
        query = query.where(EventRow.id > after)
    if before is not None:
        query = query.where(EventRow.id < before)
    return tuple(
        record_of(EventRecord, row) for row in query.order_by(EventRow.id.desc()).limit(limit)
    )


def events_after(run_id: str, after: int, *, limit: int) -> tuple[EventRecord, ...]:
    """Return the oldest of a run's events with an id above `after`, oldest first."""
    query = EventRow.select().where(EventRow.run == run_id, EventRow.id > after)
    return tuple(record_of(EventRecord, row) for row in query.order_by(EventRow.id).limit(limit))


def all_events(run_id: str) -> tuple[EventRecord, ...]:
    """Return the whole event log of a run, oldest first."""
    query = EventRow.select().where(EventRow.run == run_id)
    return tuple(record_of(EventRecord, row) for row in query.order_by(EventRow.id))
