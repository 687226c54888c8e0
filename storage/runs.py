"""Read and write runs."""

import base64
import binascii
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec
from peewee import Expression, Field

from storage.database import holds
from storage.errors import (
    AmbiguousRunError,
    BadCursorError,
    RunNotFoundError,
    WrongStateError,
)
from storage.records import (
    ALLOWED_STEPS,
    ENDS,
    WITH_WORKER,
    JsonObject,
    Page,
    Progress,
    RunFilter,
    RunRecord,
    RunStatus,
    Visibility,
)
from storage.tables import RunRow, without_nul

SORTABLE = ("created_at", "updated_at", "name", "env_id", "algorithm", "status", "timesteps")
"""The fields a list of runs can be sorted by."""

LATEST = "latest"
"""Stands for the newest run where an id is asked for."""

_FEW = 5
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
    return _record(row)


def get_run(run_id: str) -> RunRecord:
    """Return one run.

    Raises:
        RunNotFoundError: if no run has this id, or it was deleted.
    """
    row = RunRow.get_or_none((RunRow.id == run_id) & RunRow.deleted_at.is_null())
    if row is None:
        raise RunNotFoundError(run_id)
    return _record(row)


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
    return _record(rows[0])


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
    field, falls = getattr(RunRow, sort.lstrip("-")), sort.startswith("-")
    query = RunRow.select().where(RunRow.deleted_at.is_null(), *_conditions(wanted))
    if cursor is not None:
        query = query.where(_beyond(field, _read_cursor(cursor, sort), falls=falls))
    order = (field.desc(), RunRow.id.desc()) if falls else (field, RunRow.id)
    rows = list(query.order_by(*order).limit(limit + 1))
    last = rows[limit - 1] if len(rows) > limit else None
    return Page(
        items=tuple(_record(row) for row in rows[:limit]),
        next=None if last is None else _write_cursor(sort, getattr(last, field.name), last.id),
    )


def newest_run(wanted: RunFilter = RunFilter()) -> RunRecord | None:  # noqa: B008 - frozen
    """Return the run a visitor wants to see first: the one that trains, else the latest."""
    row = (
        RunRow.select()
        .where(RunRow.deleted_at.is_null(), *_conditions(wanted))
        .order_by(
            RunRow.status.in_(list(WITH_WORKER)).desc(),
            RunRow.created_at.desc(),
        )
        .first()
    )
    return None if row is None else _record(row)


def owners() -> dict[str, str | None]:
    """Return who owns which run, hidden ones included."""
    return {row.id: row.owner for row in RunRow.select(RunRow.id, RunRow.owner)}


def queued_runs() -> tuple[RunRecord, ...]:
    """Return the runs that wait for a worker, longest waiting first."""
    waiting = RunRow.select().where(RunRow.status == RunStatus.QUEUED, RunRow.deleted_at.is_null())
    return tuple(_record(row) for row in waiting.order_by(RunRow.queued_at, RunRow.id))


def orphaned_runs() -> tuple[RunRecord, ...]:
    """Return the runs whose worker ended together with an earlier server."""
    owned = RunRow.status.in_(list(WITH_WORKER))
    return tuple(_record(row) for row in RunRow.select().where(owned))


def interrupted_runs() -> tuple[RunRecord, ...]:
    """Return the runs that something from outside ended, longest ago first."""
    broken = RunRow.select().where(
        RunRow.status == RunStatus.INTERRUPTED, RunRow.deleted_at.is_null(), ~RunRow.archived
    )
    return tuple(_record(row) for row in broken.order_by(RunRow.finished_at))


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


def save_progress(run_id: str, progress: Progress, latest: JsonObject | None) -> None:
    """Remember how far a run has come."""
    RunRow.update(
        timesteps=progress.timesteps,
        vec_steps=progress.vec_steps,
        updates=progress.updates,
        episodes=progress.episodes,
        elapsed_s=progress.elapsed_s,
        best=progress.best,
        solved_at=progress.solved_at,
        latest_json=None if latest is None else dict(latest),
        updated_at=datetime.now(UTC),
    ).where(RunRow.id == run_id).execute()


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


def _conditions(wanted: RunFilter) -> list[Any]:
    equal = {
        RunRow.status: wanted.status,
        RunRow.env_id: wanted.env_id,
        RunRow.algorithm: wanted.algorithm,
        RunRow.group_id: wanted.group_id,
        RunRow.owner: wanted.owner,
        RunRow.archived: wanted.archived,
    }
    found: list[Any] = [field == value for field, value in equal.items() if value is not None]
    if wanted.tag is not None:
        # Tags are stored as a JSON list; the quotes keep "ppo" from matching "ppo-2".
        found.append(holds(RunRow.tags_json, msgspec.json.encode(wanted.tag).decode()))
    if wanted.text:
        text = without_nul(wanted.text)
        found.append(
            RunRow.name.contains(text)
            | RunRow.env_id.contains(text)
            | RunRow.algorithm.contains(text)
            | RunRow.id.startswith(text)
        )
    if wanted.seen_by is not None:
        found.append(_may_be_seen_by(wanted.seen_by))
    return found


def _may_be_seen_by(person_id: str) -> Expression:
    expression: Expression = (
        (RunRow.owner == person_id)
        | (RunRow.visibility == Visibility.EVERYONE)
        | holds(RunRow.shared_json, f'"{person_id}"')
    )
    return expression


def _beyond(field: Field, position: tuple[str, str], *, falls: bool) -> Expression:
    value, run_id = position
    converted = _cursor_value(field, value)
    expression: Expression
    if falls:
        expression = (field < converted) | ((field == converted) & (RunRow.id < run_id))
    else:
        expression = (field > converted) | ((field == converted) & (RunRow.id > run_id))
    return expression


def _cursor_value(field: Field, text: str) -> object:
    try:
        if field.name.endswith("_at"):
            return datetime.fromisoformat(text).astimezone(UTC)
        return max(-(2**62), min(int(text), 2**62)) if field.name == "timesteps" else text
    except (ValueError, OverflowError):
        raise BadCursorError from None


def _write_cursor(sort: str, value: object, run_id: str) -> str:
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return base64.urlsafe_b64encode(f"{sort}|{run_id}|{text}".encode()).decode()


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


def _record(row: RunRow) -> RunRecord:
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
        ),
        latest=row.latest_json,
    )
