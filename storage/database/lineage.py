"""Ancestors and descendants of runs."""

from storage import RunNotFoundError
from storage.database.runs import get_run
from storage.database.tables import RunRow
from storage.records import RunRecord

_MAX_RUNS = 60
"""Limit beyond which a tree of runs is unreadable."""


def family(run_id: str) -> tuple[RunRecord, ...]:
    """Return a run, its ancestors and all their descendants; parents come before their children.

    Raises:
        RunNotFoundError: if there is no such run.
    """
    found = {run_id: get_run(run_id)}
    oldest = found[run_id]
    while oldest.parent is not None and oldest.parent not in found and len(found) < _MAX_RUNS:
        try:
            oldest = get_run(oldest.parent)
        except RunNotFoundError:
            break
        found[oldest.id] = oldest
    level = [oldest.id]
    ordered = dict.fromkeys(level)
    while level and len(ordered) < _MAX_RUNS:
        level = [one for one in _children(level) if one not in ordered]
        ordered.update(dict.fromkeys(level[: _MAX_RUNS - len(ordered)]))
    # The path from the oldest ancestor to this run is always included, regardless of the limit.
    path = [one for one in reversed(list(found)) if one not in ordered]
    return tuple(found.get(one) or get_run(one) for one in (*ordered, *path))


def _children(ids: list[str]) -> list[str]:
    rows = RunRow.select(RunRow.id).where(RunRow.parent.in_(ids), RunRow.deleted_at.is_null())
    return [row.id for row in rows.order_by(RunRow.created_at)]
