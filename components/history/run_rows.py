"""What the table of past runs shows of each: plain values that its script draws."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from app.runs.groups import typical
from components.base.metrics import format_number
from components.base.progress import format_seconds, format_seconds_of
from components.base.status_badge import tone
from components.base.times import moment
from components.history.sparkline import sparkline
from storage.records.runs import RunRecord, RunStatus

Row = dict[str, Any]
Words = Callable[[RunRecord], Row]
"""Says what depends on who looks: the owner, and what may be done."""

_LOUDEST = (
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


def entry_row(entry: Sequence[RunRecord], words: Words) -> Row:
    """Describe a run, or a group with its seeds folded."""
    if len(entry) == 1:
        return run_row(entry[0], words)
    return _group_row(entry, words)


def run_row(run: RunRecord, words: Words) -> Row:
    """Describe one run."""
    return {
        "id": run.id,
        "name": run.name,
        "short": run.name,
        "status": run.status.value,
        "tone": tone(run.status),
        "error": run.error or "",
        "env": run.env_id,
        "algorithm": run.algorithm,
        "score": format_number(run.score, 1),
        "band": "",
        "curve": sparkline([run.sketch]),
        "steps": _steps(run),
        "time": format_seconds(run.progress.elapsed_s or None),
        "started": _short(run.created_at),
        "moment": moment(run.created_at),
        "tags": list(run.tags),
        "note": run.notes[:_NOTE_LENGTH],
        "archived": run.archived,
        "parent": run.parent or "",
        "active": run.status.is_active,
        "members": [],
        **words(run),
    }


def _group_row(entry: Sequence[RunRecord], words: Words) -> Row:
    name = _group_name(entry)
    scores = tuple(run.score for run in entry if run.score is not None)
    statuses = Counter(run.status for run in entry)
    loudest = next(status for status in _LOUDEST if status in statuses)
    count = statuses[loudest]
    shared = [tag for tag in entry[0].tags if all(tag in run.tags for run in entry)]
    first = run_row(entry[0], words)
    steps = [run.progress.timesteps for run in entry]
    seconds = [run.progress.elapsed_s for run in entry]
    return first | {
        "id": entry[0].group_id,
        "name": name,
        "status": loudest.value if count == len(entry) else f"{count} {loudest.value}",
        "tone": tone(loudest),
        "error": "",
        "curve": sparkline([run.sketch for run in entry]),
        "steps": format_number(sum(steps) / len(steps) or None),
        "time": format_seconds_of(len(entry), sum(seconds) / len(seconds) or None),
        "tags": shared,
        "note": "",
        "archived": all(run.archived for run in entry),
        "parent": "",
        "active": any(run.status.is_active for run in entry),
        "members": [_seed_row(run, words, name, shared) for run in entry],
        **_group_score(scores),
    }


def _seed_row(run: RunRecord, words: Words, group: str, tags: Sequence[str]) -> Row:
    """Describe a run of a group by what it has beside the others."""
    own = [tag for tag in run.tags if tag not in tags]
    return run_row(run, words) | {"short": run.name.removeprefix(f"{group}, "), "tags": own}


def _group_score(scores: tuple[float, ...]) -> Row:
    if not scores:
        return {"score": "-", "band": ""}
    iqm, low, high = typical(scores)
    band = f"{format_number(low, 1)} to {format_number(high, 1)}" if len(scores) > 1 else ""
    return {"score": format_number(iqm, 1), "band": band}


def _group_name(entry: Sequence[RunRecord]) -> str:
    """Return what the names of the seeds have in common."""
    name = entry[0].name
    title = name.rpartition(", seed ")[0]
    return title if title and all(run.name.startswith(title) for run in entry) else name


def _steps(run: RunRecord) -> str:
    done = format_number(run.progress.timesteps or None)
    return f"{done} ({run.share_done:.0%})" if run.status.has_worker else done


def _short(when: datetime) -> str:
    local = when.astimezone()
    is_this_year = local.year == datetime.now(UTC).astimezone().year
    return local.strftime("%b %d %H:%M" if is_this_year else "%Y-%m-%d")
