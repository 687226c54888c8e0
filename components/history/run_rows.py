"""Rows of the table of past runs, as plain values for its script."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from app.run_config import environment_label
from app.runs import group_name, iqm_with_interval, scores_of_one_kind
from components.base import (
    format_number,
    format_seconds,
    format_seconds_of,
    format_time,
    status_class,
)
from components.history.sparkline import sparkline
from storage.records import RunRecord, RunStatus

Row = dict[str, Any]
UserFields = Callable[[RunRecord], Row]
"""Returns the fields that depend on the user: the owner and the allowed actions."""

_BY_PRIORITY = (
    RunStatus.RUNNING,
    RunStatus.STARTING,
    RunStatus.PAUSED,
    RunStatus.QUEUED,
    RunStatus.FAILED,
    RunStatus.INTERRUPTED,
    RunStatus.STOPPED,
    RunStatus.CREATED,
    RunStatus.COMPLETED,
)
_NOTE_LENGTH = 300


def entry_row(entry: Sequence[RunRecord], user_fields: UserFields) -> Row:
    """Return the row of a run, or of a seed group with its runs as members."""
    if len(entry) == 1:
        return run_row(entry[0], user_fields)
    return _group_row(entry, user_fields)


def run_row(run: RunRecord, user_fields: UserFields) -> Row:
    """Return the row of one run."""
    return {
        "id": run.id,
        "name": run.name,
        "short": run.name,
        "status": run.status.value,
        "tone": status_class(run.status),
        "error": run.error or "",
        "env": environment_label(run),
        "algorithm": run.algorithm,
        "score": format_number(run.score, 1),
        "band": "",
        "kind": "" if run.score_kind is None else run.score_kind.label,
        "curve": sparkline([run.sketch]),
        "steps": _steps(run),
        "time": format_seconds(run.progress.elapsed_s or None),
        "created": _short(run.created_at),
        "created_at": format_time(run.created_at),
        "tags": list(run.tags),
        "note": run.notes[:_NOTE_LENGTH],
        "archived": run.archived,
        "parent": run.parent or "",
        "active": run.status.is_active,
        "members": [],
        **user_fields(run),
    }


def _group_row(entry: Sequence[RunRecord], user_fields: UserFields) -> Row:
    name = group_name(entry)
    scores, kind = scores_of_one_kind(entry)
    statuses = Counter(run.status for run in entry)
    status = next(status for status in _BY_PRIORITY if status in statuses)
    count = statuses[status]
    shared = [tag for tag in entry[0].tags if all(tag in run.tags for run in entry)]
    first = run_row(entry[0], user_fields)
    steps = [run.progress.timesteps for run in entry]
    seconds = [run.progress.elapsed_s for run in entry]
    return first | {
        "id": entry[0].group_id,
        "name": name,
        "status": status.value if count == len(entry) else f"{count} {status.value}",
        "tone": status_class(status),
        "error": "",
        "curve": sparkline([run.sketch for run in entry]),
        "steps": format_number(sum(steps) / len(steps) or None),
        "time": format_seconds_of(len(entry), sum(seconds) / len(seconds) or None),
        "tags": shared,
        "note": "",
        "archived": all(run.archived for run in entry),
        "parent": "",
        "active": any(run.status.is_active for run in entry),
        "members": [_seed_row(run, user_fields, name, shared) for run in entry],
        **_group_score(tuple(scores)),
        "kind": kind.label if scores else "",
    }


def _seed_row(run: RunRecord, user_fields: UserFields, group: str, tags: Sequence[str]) -> Row:
    """Return the row of a run in a group, without what it shares with the others."""
    own = [tag for tag in run.tags if tag not in tags]
    return run_row(run, user_fields) | {"short": run.name.removeprefix(f"{group}, "), "tags": own}


def _group_score(scores: tuple[float, ...]) -> Row:
    if not scores:
        return {"score": "-", "band": ""}
    iqm, interval = iqm_with_interval(scores)
    band = " to ".join(format_number(edge, 1) for edge in interval or ())
    return {"score": format_number(iqm, 1), "band": band}


def _steps(run: RunRecord) -> str:
    done = format_number(run.progress.timesteps or None)
    return f"{done} ({run.share_done:.0%})" if run.status.has_worker else done


def _short(when: datetime) -> str:
    local = when.astimezone()
    is_this_year = local.year == datetime.now(UTC).astimezone().year
    return local.strftime("%b %d %H:%M" if is_this_year else "%Y-%m-%d")
