"""Read and write runs."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from storage.database.cursors import beyond, in_order, write_cursor
from storage.database.run_filters import conditions
from storage.database.tables.runs import RunRow
from storage.errors import AmbiguousRunError, RunNotFoundError, WrongStateError
from storage.records.runs import (
    ALLOWED_STEPS,
    ENDS,
    WITH_WORKER,
    JsonObject,
    Page,
    Progress,
    RunFilter,
    RunRecord,
    RunStatus,
    Sketch,
    Visibility,
)

LATEST = "latest"
"""Stands for the newest run where an id is asked for."""

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
    """Add a run that waits to be started and return it; `more` are owner, group_id and parent."""
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


def find_run(beginning: str) -> RunRecord:
    """Return the run whose id begins so, or the newest one for `latest`.

    Raises:
        RunNotFoundError: if there is none.
        AmbiguousRunError: if there are several.
    """
    query = RunRow.select().where(RunRow.deleted_at.is_null()).order_by(RunRow.created_at.desc())
    if beginning == LATEST:
        rows = list(query.limit(1))
    else:
        rows = list(query.where(RunRow.id.startswith(beginning)).limit(_FEW)) if beginning else []
    if not rows:
        raise RunNotFoundError(beginning)
    if len(rows) > 1:
        raise AmbiguousRunError(beginning, [row.id[:12] for row in rows])
    return record(rows[0])


def list_runs(
    wanted: RunFilter = RunFilter(),  # noqa: B008 - frozen, so one default serves all calls
    *,
    sort: str = "-created_at",
    limit: int = 50,
    cursor: str | None = None,
) -> Page[RunRecord]:
    """Return the runs that `wanted` describes, in the order of `sort`, from `cursor` on.

    Raises:
        BadCursorError: if `cursor` is not one that a list of this order gave out.
    """
    query = RunRow.select().where(RunRow.deleted_at.is_null(), *conditions(wanted))
    if cursor is not None:
        query = query.where(beyond(cursor, sort))
    rows = list(query.order_by(*in_order(sort)).limit(limit + 1))
    last = rows[limit - 1] if len(rows) > limit else None
    return Page(
        items=tuple(record(row) for row in rows[:limit]),
        next=None if last is None else write_cursor(last, sort),
    )


def newest_run(wanted: RunFilter = RunFilter()) -> RunRecord | None:  # noqa: B008 - frozen
    """Return the run a visitor wants to see first: the one that trains, else the latest."""
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
    """Return the environments that at least one of the runs has solved."""
    query = RunRow.select(RunRow.env_id).where(
        RunRow.deleted_at.is_null(), RunRow.solved_at.is_null(False), *conditions(wanted)
    )
    return frozenset(row.env_id for row in query.distinct())


def owners() -> dict[str, str | None]:
    """Return who owns which run, hidden ones included."""
    return {row.id: row.owner for row in RunRow.select(RunRow.id, RunRow.owner)}


def queued_runs() -> tuple[RunRecord, ...]:
    """Return the runs that wait for a worker, longest waiting first."""
    waiting = RunRow.select().where(RunRow.status == RunStatus.QUEUED, RunRow.deleted_at.is_null())
    return tuple(record(row) for row in waiting.order_by(RunRow.queued_at, RunRow.id))


def orphaned_runs() -> tuple[RunRecord, ...]:
    """Return the runs whose worker ended together with an earlier server."""
    owned = RunRow.status.in_(list(WITH_WORKER))
    return tuple(record(row) for row in RunRow.select().where(owned))


def interrupted_runs() -> tuple[RunRecord, ...]:
    """Return the runs that something from outside ended, longest ago first."""
    broken = RunRow.select().where(
        RunRow.status == RunStatus.INTERRUPTED, RunRow.deleted_at.is_null(), ~RunRow.archived
    )
    return tuple(record(row) for row in broken.order_by(RunRow.finished_at))


def move_run(run_id: str, target: RunStatus, *, error: str | None = None) -> RunRecord:
    """Take a run one step further in its life and return it.

    Raises:
        RunNotFoundError: if there is no such run.
        WrongStateError: if the run's life has no such step.
    """
    run = get_run(run_id)
    if target not in ALLOWED_STEPS[run.status]:
        raise WrongStateError(run.id, run.status, f"become {target}")
    now = datetime.now(UTC)
    values: dict[str, Any] = {"status": target, "updated_at": now, "error": error}
    if target is RunStatus.QUEUED:
        values["queued_at"] = now
    if target is RunStatus.RUNNING and run.started_at is None:
        values["started_at"] = now
    values["finished_at"] = now if target in ENDS else None
    RunRow.update(values).where(RunRow.id == run_id).execute()
    return get_run(run_id)


def change_run(run_id: str, **values: Any) -> RunRecord:
    """Set what may change in a run's life: see `_CHANGEABLE`."""
    unknown = values.keys() - _CHANGEABLE
    if unknown:
        raise TypeError(f"A run's {', '.join(sorted(unknown))} can't be changed.")
    get_run(run_id)
    RunRow.update({**values, "updated_at": datetime.now(UTC)}).where(RunRow.id == run_id).execute()
    return get_run(run_id)


def merge_config(run_id: str, values: JsonObject, *, change: JsonObject | None = None) -> RunRecord:
    """Set some values of a run's config, and add what was changed to its list of changes."""
    config = {**get_run(run_id).config, **values}
    if change is not None:
        config["changes"] = [*config.get("changes", ()), dict(change)]
    return change_run(run_id, config_json=config)


def save_progress(
    run_id: str, progress: Progress, latest: JsonObject | None, sketch: Sketch | None = None
) -> None:
    """Remember how far a run has come."""
    evaluation = progress.best_evaluation
    mean = (latest or {}).get("mean_reward")
    RunRow.update(
        timesteps=progress.timesteps,
        vec_steps=progress.vec_steps,
        updates=progress.updates,
        episodes=progress.episodes,
        elapsed_s=progress.elapsed_s,
        best=progress.best,
        solved_at=progress.solved_at,
        best_evaluation=evaluation,
        score=mean if evaluation is None else evaluation,
        latest_json=None if latest is None else dict(latest),
        sketch_json=_written(sketch),
        updated_at=datetime.now(UTC),
    ).where(RunRow.id == run_id).execute()


def save_sketch(run_id: str, sketch: Sketch, best_evaluation: float | None) -> None:
    """Remember the shape of a run that ended before anybody drew it, and its best evaluation."""
    values: dict[str, Any] = {"sketch_json": _written(sketch)}
    if best_evaluation is not None:
        values |= {"best_evaluation": best_evaluation, "score": best_evaluation}
    undrawn = (RunRow.id == run_id) & RunRow.sketch_json.is_null()
    RunRow.update(values).where(undrawn).execute()


def hide_run(run_id: str) -> RunRecord:
    """Take a run out of every list; `restore_run` brings it back.

    Raises:
        RunNotFoundError: if there is no such run.
        WrongStateError: if a worker owns the run, or is about to.
    """
    run = get_run(run_id)
    if run.status.is_active:
        raise WrongStateError(run.id, run.status, "be deleted. Stop it first")
    RunRow.update(deleted_at=datetime.now(UTC)).where(RunRow.id == run_id).execute()
    return run


def best_runs(wanted: RunFilter) -> tuple[RunRecord, ...]:
    """Return the runs with the best mean reward, best first."""
    rows = (
        RunRow.select()
        .where(RunRow.deleted_at.is_null(), RunRow.best.is_null(False), *conditions(wanted))
        .order_by(RunRow.best.desc())
        .limit(_BEST)
    )
    return tuple(record(row) for row in rows)


def restore_run(run_id: str) -> RunRecord:
    """Bring a hidden run back.

    Raises:
        RunNotFoundError: if it was erased meanwhile.
    """
    RunRow.update(deleted_at=None).where(RunRow.id == run_id).execute()
    return get_run(run_id)


def erase_run(run_id: str) -> bool:
    """Forget a hidden run and its events for good; return whether there was one."""
    hidden = (RunRow.id == run_id) & RunRow.deleted_at.is_null(False)
    # The stubs of peewee trip over `delete`.
    return bool(RunRow.delete().where(hidden).execute())  # type: ignore[misc]


def hidden_runs() -> tuple[str, ...]:
    """Return the ids of the runs that were hidden but not erased."""
    rows = RunRow.select(RunRow.id).where(RunRow.deleted_at.is_null(False))
    return tuple(row.id for row in rows)


def record(row: RunRow) -> RunRecord:
    """Return what a row says."""
    return RunRecord(
        id=row.id,
        name=row.name,
        env_id=row.env_id,
        algorithm=row.algorithm,
        status=RunStatus(row.status),
        config=row.config_json,
        created_at=row.created_at,
        updated_at=row.updated_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        owner=row.owner,
        visibility=Visibility(row.visibility),
        shared_with=tuple(row.shared_json),
        group_id=row.group_id,
        parent=row.parent,
        tags=tuple(row.tags_json),
        notes=row.notes,
        archived=row.archived,
        error=row.error,
        progress=Progress(
            timesteps=row.timesteps,
            vec_steps=row.vec_steps,
            updates=row.updates,
            episodes=row.episodes,
            elapsed_s=row.elapsed_s,
            best=row.best,
            solved_at=row.solved_at,
            best_evaluation=row.best_evaluation,
        ),
        latest=row.latest_json,
        sketch=_read(row.sketch_json),
    )


def _written(sketch: Sketch | None) -> dict[str, Any] | None:
    return None if sketch is None else {"every": sketch.every, "points": sketch.points}


def _read(written: JsonObject | None) -> Sketch | None:
    if written is None:
        return None
    return Sketch(every=written["every"], points=tuple((x, y) for x, y in written["points"]))
