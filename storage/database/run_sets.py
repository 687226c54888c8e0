"""Read and write sets of runs; their runs are read by `runs.members`."""

from dataclasses import asdict
from datetime import UTC, datetime

from peewee import fn

from storage import GroupNotFoundError
from storage.database.tables import RunRow, RunSetRow, record_of
from storage.records import RunSetKind, RunSetRecord, RunSetState


def add_run_set(run_set: RunSetRecord) -> None:
    """Add a set unless it exists: it is passed again with each of its runs."""
    RunSetRow.insert(asdict(run_set)).on_conflict_ignore().execute()


def get_run_set(set_id: str) -> RunSetRecord:
    """Return one set.

    Raises:
        GroupNotFoundError: if no set has this id.
    """
    row = RunSetRow.get_or_none(RunSetRow.id == set_id)
    if row is None:
        raise GroupNotFoundError(set_id)
    return record_of(RunSetRecord, row)


def close_run_set(set_id: str) -> None:
    """Mark a set as complete."""
    RunSetRow.update(state=RunSetState.CLOSED).where(RunSetRow.id == set_id).execute()


def hide_open_sets() -> None:
    """Hide the runs of seed groups that a killed server was still creating."""
    is_open = (RunSetRow.state == RunSetState.OPEN) & (RunSetRow.kind == RunSetKind.SEEDS)
    unfinished = RunRow.group_id.in_(RunSetRow.select(RunSetRow.id).where(is_open))
    RunRow.update(deleted_at=datetime.now(UTC)).where(unfinished).execute()


def erase_if_empty(set_id: str) -> None:
    """Delete a set that has no more runs, counting hidden ones."""
    has_runs = fn.EXISTS(RunRow.select(RunRow.id).where(RunRow.group_id == set_id))
    # peewee's stubs mistype `delete`.
    RunSetRow.delete().where(RunSetRow.id == set_id, ~has_runs).execute()  # type: ignore[misc]
