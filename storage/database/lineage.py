"""Which runs came of which."""

from storage.database.runs import get_run
from storage.database.tables.runs import RunRow
from storage.errors import RunNotFoundError
from storage.records.runs import RunRecord

_MOST = 60
"""More than a tree of runs can be read with."""


def family(run_id: str) -> tuple[RunRecord, ...]:
    """Return a run, all it came of, and all that came of those: every run after its parent.

    Raises:
        RunNotFoundError: if there is no such run.
    """
    found = {run_id: get_run(run_id)}
    eldest = found[run_id]
    while eldest.parent is not None and eldest.parent not in found and len(found) < _MOST:
        try:
            eldest = get_run(eldest.parent)
        except RunNotFoundError:
            break
        found[eldest.id] = eldest
    level = [eldest.id]
    ordered = dict.fromkeys(level)
    while level and len(ordered) < _MOST:
        level = [one for one in _children(level) if one not in ordered]
        ordered.update(dict.fromkeys(level[: _MOST - len(ordered)]))
    # Whatever else there is, the way from the eldest to this run is there.
    way = [one for one in reversed(list(found)) if one not in ordered]
    return tuple(found.get(one) or get_run(one) for one in (*ordered, *way))


def _children(ids: list[str]) -> list[str]:
    rows = RunRow.select(RunRow.id).where(RunRow.parent.in_(ids), RunRow.deleted_at.is_null())
    return [row.id for row in rows.order_by(RunRow.created_at)]
