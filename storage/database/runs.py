"""Read and write runs."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from storage import AmbiguousRunError, RunNotFoundError, WrongStateError
from storage.database.cursors import after_cursor, ordering, write_cursor
from storage.database.database import transaction
from storage.database.run_filters import conditions
from storage.database.run_sets import erase_if_empty
from storage.database.tables import RunRow, record_of
from storage.records import (
    ALLOWED_TRANSITIONS,
    FINAL_STATUSES,
    WITH_WORKER,
    JsonObject,
    Page,
    Progress,
    QueuedRun,
    RunFilter,
    RunRecord,
    RunStatus,
    Sketch,
    score_of,
)

LATEST = "latest"
"""Alias of the newest run's id."""

_FEW = 5
_BEST = 50
_CHANGEABLE = frozenset(
    {"name", "notes", "tags_json", "archived", "config_json", "visibility", "shared_json"}
)


def create_run(
    *,
    name: str,
    env_id: str,
    algorithm: str,
    config: JsonObject,
    tags: Iterable[str] = (),
    **more: Any,
) -> RunRecord:
    """Add a new run and return it; `more` are further columns, e.g. owner, group_id and parent."""
    now = datetime.now(UTC)
    row = RunRow.create(
        id=uuid4().hex,
        name=name,
        env_id=env_id,
        algorithm=algorithm,
        config_json=dict(config),
        tags_json=list(tags),
        created_at=now,
        updated_at=now,
        **more,
    )
    return record(row)


def get_run(run_id: str) -> RunRecord:
    """Return one run.

    Raises:
        RunNotFoundError: if no run has this id, or it was deleted.
    """
    row = RunRow.get_or_none((RunRow.id == run_id) & RunRow.deleted_at.is_null())
    if row is None:
        raise RunNotFoundError(run_id)
    return record(row)


def find_run(prefix: str) -> RunRecord:
    """Return the run whose id has this prefix, or the newest one for `latest`.

    Raises:
        RunNotFoundError: if there is none.
        AmbiguousRunError: if several ids match.
    """
    query = RunRow.select().where(RunRow.deleted_at.is_null()).order_by(RunRow.created_at.desc())
    if prefix == LATEST:
        rows = list(query.limit(1))
    else:
        rows = list(query.where(RunRow.id.startswith(prefix)).limit(_FEW)) if prefix else []
    if not rows:
        raise RunNotFoundError(prefix)
    if len(rows) > 1:
        raise AmbiguousRunError(prefix, [row.id[:12] for row in rows])
    return record(rows[0])


def list_runs(
    wanted: RunFilter = RunFilter(),  # noqa: B008 - frozen, so one default serves all calls
    *,
    sort: str = "-created_at",
    limit: int = 50,
    cursor: str | None = None,
) -> Page[RunRecord]:
    """Return the runs that match `wanted` in the order of `sort`, starting after `cursor`.

    Raises:
        BadCursorError: if `cursor` was not issued for this order.
    """
    query = RunRow.select().where(RunRow.deleted_at.is_null(), *conditions(wanted))
    if cursor is not None:
        query = query.where(after_cursor(cursor, sort))
    rows = list(query.order_by(*ordering(sort)).limit(limit + 1))
    last = rows[limit - 1] if len(rows) > limit else None
    return Page(
        items=tuple(record(row) for row in rows[:limit]),
        next=None if last is None else write_cursor(last, sort),
    )


def members(set_id: str) -> tuple[RunRecord, ...]:
    """Return the runs of a set in order of creation."""
    rows = RunRow.select().where(RunRow.group_id == set_id, RunRow.deleted_at.is_null())
    return tuple(record(row) for row in rows.order_by(RunRow.created_at, RunRow.id))


def newest_run(wanted: RunFilter = RunFilter()) -> RunRecord | None:  # noqa: B008 - frozen
    """Return the run to show first: the newest with a worker, else the newest."""
    row = (
        RunRow.select()
        .where(RunRow.deleted_at.is_null(), *conditions(wanted))
        .order_by(
            RunRow.status.in_(list(WITH_WORKER)).desc(),
            RunRow.created_at.desc(),
        )
        .first()
    )
    return None if row is None else record(row)


def solved_environments(wanted: RunFilter) -> frozenset[str]:
    """Return the environments that at least one matching run has solved."""
    query = RunRow.select(RunRow.env_id).where(
        RunRow.deleted_at.is_null(), RunRow.solved_at.is_null(False), *conditions(wanted)
    )
    return frozenset(row.env_id for row in query.distinct())


def owners() -> dict[str, str | None]:
    """Return the owner of each run by its id, including hidden runs."""
    return {row.id: row.owner for row in RunRow.select(RunRow.id, RunRow.owner)}


def queued_runs() -> tuple[QueuedRun, ...]:
    """Return the queued runs, longest waiting first.

    Reads only the needed columns: configs are long, and the queue is read at every change.
    """
    waiting = RunRow.select(RunRow.id, RunRow.owner).where(
        RunRow.status == RunStatus.QUEUED, RunRow.deleted_at.is_null()
    )
    in_turn = waiting.order_by(RunRow.queued_at, RunRow.id)
    return tuple(QueuedRun(id=row.id, owner=row.owner) for row in in_turn)


def place_in_queue(run_id: str) -> int | None:
    """Return the position of a run in the queue, starting at 1; None if it isn't queued."""
    waiting = (RunRow.status == RunStatus.QUEUED) & RunRow.deleted_at.is_null()
    row = RunRow.select(RunRow.queued_at).where(waiting, RunRow.id == run_id).first()
    if row is None:
        return None
    is_as_early = (RunRow.queued_at == row.queued_at) & (RunRow.id <= run_id)
    before = (RunRow.queued_at < row.queued_at) | is_as_early
    place: int = RunRow.select().where(waiting, before).count()
    return place


def orphaned_runs() -> tuple[RunRecord, ...]:
    """Return the runs whose worker ended with an earlier server."""
    owned = RunRow.status.in_(list(WITH_WORKER))
    return tuple(record(row) for row in RunRow.select().where(owned))


def interrupted_runs() -> tuple[RunRecord, ...]:
    """Return the interrupted runs, least recent first."""
    interrupted = RunRow.select().where(
        RunRow.status == RunStatus.INTERRUPTED, RunRow.deleted_at.is_null(), ~RunRow.archived
    )
    return tuple(record(row) for row in interrupted.order_by(RunRow.finished_at))


def change_status(run_id: str, target: RunStatus, *, error: str | None = None) -> RunRecord:
    """Change the status of a run and return the run.

    Raises:
        RunNotFoundError: if there is no such run.
        WrongStateError: if the transition is not allowed.
    """
    run = get_run(run_id)
    if target not in ALLOWED_TRANSITIONS[run.status]:
        raise WrongStateError(run.id, run.status, f"become {target}")
    now = datetime.now(UTC)
    values: dict[str, Any] = {"status": target, "updated_at": now, "error": error}
    if target is RunStatus.QUEUED:
        values["queued_at"] = now
    if target is RunStatus.RUNNING and run.started_at is None:
        values["started_at"] = now
    values["finished_at"] = now if target in FINAL_STATUSES else None
    RunRow.update(values).where(RunRow.id == run_id).execute()
    return get_run(run_id)


def change_run(run_id: str, **values: Any) -> RunRecord:
    """Set columns of a run that may change: see `_CHANGEABLE`."""
    unknown = values.keys() - _CHANGEABLE
    if unknown:
        raise TypeError(f"A run's {', '.join(sorted(unknown))} can't be changed.")
    get_run(run_id)
    RunRow.update({**values, "updated_at": datetime.now(UTC)}).where(RunRow.id == run_id).execute()
    return get_run(run_id)


def merge_config(run_id: str, values: JsonObject, *, change: JsonObject | None = None) -> RunRecord:
    """Set some values of a run's config, and append `change` to its list of changes."""
    config = {**get_run(run_id).config, **values}
    if change is not None:
        config["changes"] = [*config.get("changes", ()), dict(change)]
    return change_run(run_id, config_json=config)


def save_progress(
    run_id: str, progress: Progress, latest: JsonObject | None, sketch: Sketch | None = None
) -> None:
    """Store the progress of a run."""
    RunRow.update(
        **asdict(progress),
        score=score_of(progress, latest)[0],
        latest_json=None if latest is None else dict(latest),
        sketch_json=_encode_sketch(sketch),
        updated_at=datetime.now(UTC),
    ).where(RunRow.id == run_id).execute()


def save_sketch(run_id: str, sketch: Sketch, last_evaluation: float | None) -> None:
    """Store the sketch of a run that ended without one, and its last periodic evaluation."""
    values: dict[str, Any] = {"sketch_json": _encode_sketch(sketch)}
    if last_evaluation is not None:
        run = get_run(run_id)
        progress = replace(run.progress, last_evaluation=last_evaluation)
        score, _ = score_of(progress, run.latest)
        values |= {"last_evaluation": last_evaluation, "score": score}
    has_none = (RunRow.id == run_id) & RunRow.sketch_json.is_null()
    RunRow.update(values).where(has_none).execute()


def save_final_evaluation(run_id: str, mean_return: float, timesteps: int) -> RunRecord:
    """Store the result of the final evaluation of the policy of a step.

    Raises:
        RunNotFoundError: if there is no such run.
    """
    run = get_run(run_id)
    progress = replace(run.progress, final_evaluation=mean_return, final_evaluation_at=timesteps)
    columns = {"final_evaluation": mean_return, "final_evaluation_at": timesteps}
    score, _ = score_of(progress, run.latest)
    RunRow.update(**columns, score=score).where(RunRow.id == run_id).execute()
    return get_run(run_id)


def hide_run(run_id: str) -> RunRecord:
    """Hide a run from every list; `restore_run` undoes it.

    Raises:
        RunNotFoundError: if there is no such run.
        WrongStateError: if a worker owns the run, or it is queued for one.
    """
    run = get_run(run_id)
    if run.status.is_active:
        raise WrongStateError(run.id, run.status, "be deleted. Stop it first")
    RunRow.update(deleted_at=datetime.now(UTC)).where(RunRow.id == run_id).execute()
    return run


def best_runs(wanted: RunFilter) -> tuple[RunRecord, ...]:
    """Return the runs with the best score, best first."""
    rows = (
        RunRow.select()
        .where(RunRow.deleted_at.is_null(), RunRow.score.is_null(False), *conditions(wanted))
        .order_by(RunRow.score.desc())
        .limit(_BEST)
    )
    return tuple(record(row) for row in rows)


def restore_run(run_id: str) -> RunRecord:
    """Restore a hidden run.

    Raises:
        RunNotFoundError: if it was erased in the meantime.
    """
    RunRow.update(deleted_at=None).where(RunRow.id == run_id).execute()
    return get_run(run_id)


def erase_run(run_id: str) -> bool:
    """Delete a hidden run and its events permanently; with the last run of a set also the set.

    Returns whether there was such a run.
    """
    hidden = (RunRow.id == run_id) & RunRow.deleted_at.is_null(False)
    with transaction():
        row = RunRow.select(RunRow.group_id).where(hidden).first()
        if row is None:
            return False
        # peewee's stubs mistype `delete`.
        RunRow.delete().where(hidden).execute()  # type: ignore[misc]
        if row.group_id is not None:
            erase_if_empty(row.group_id)
    return True


def hidden_runs() -> tuple[str, ...]:
    """Return the ids of runs that are hidden but not erased."""
    rows = RunRow.select(RunRow.id).where(RunRow.deleted_at.is_null(False))
    return tuple(row.id for row in rows)


def record(row: RunRow) -> RunRecord:
    """Return the record of a row."""
    return record_of(
        RunRecord,
        row,
        config=row.config_json,
        shared_with=tuple(row.shared_json),
        tags=tuple(row.tags_json),
        progress=record_of(Progress, row),
        latest=row.latest_json,
        sketch=_decode_sketch(row.sketch_json),
    )


def _encode_sketch(sketch: Sketch | None) -> dict[str, Any] | None:
    return None if sketch is None else {"every": sketch.every, "points": sketch.points}


def _decode_sketch(stored: JsonObject | None) -> Sketch | None:
    if stored is None:
        return None
    return Sketch(every=stored["every"], points=tuple((x, y) for x, y in stored["points"]))
