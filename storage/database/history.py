"""Pages of past runs in which each seed group is one entry."""

from collections.abc import Sequence
from typing import Any

from peewee import SQL, ModelSelect, Select, Window, fn

from storage.database.run_filters import conditions
from storage.database.runs import record
from storage.database.tables import RunRow
from storage.records import Facets, HistoryPage, RunFilter, RunRecord

PER_PAGE = 50

_KEY = fn.COALESCE(RunRow.group_id, RunRow.id)
"""The key of an entry, shared by the runs of a group."""
_ALL = SQL("*")
_PLACES = {
    "created_at": "MAX(value)",
    "updated_at": "MAX(value)",
    "timesteps": "AVG(value)",
    "elapsed_s": "AVG(value)",
    # The interquartile mean, as in the row of a group.
    "score": "AVG(CASE WHEN nth > size / 4 AND nth <= size - size / 4 THEN value END)",
}
_FIRST = "MIN(value)"


def history_page(
    wanted: RunFilter, *, sort: str = "-created_at", number: int = 1, per_page: int = PER_PAGE
) -> HistoryPage:
    """Return a page of the runs that match `wanted`; a number too high gives the last page.

    A group is sorted by its newest, typical or alphabetically first run. Its place by score is
    that of its runs' own scores, also where these are of different kinds; its row then shows the
    best kind that all of them have.
    """
    found = _keys(wanted, sort, number, per_page)
    if not found and number > 1:
        first = _keys(wanted, sort, 1, 1)
        number = -(-first[0]["entries"] // per_page) if first else 1
        found = _keys(wanted, sort, number, per_page)
    return HistoryPage(
        entries=_entries([row["key"] for row in found], wanted),
        number=number,
        per_page=per_page,
        entry_count=found[0]["entries"] if found else 0,
        run_count=int(found[0]["runs"]) if found else 0,
    )


def facets(seen: RunFilter) -> Facets:
    """Return the filter values of the runs that match `seen`."""
    # Tags first: they have no index of their own, so SQLite uses the index that covers all columns.
    columns = (RunRow.tags_json, RunRow.env_id, RunRow.algorithm, RunRow.owner)
    query = RunRow.select(*columns, fn.COUNT(_ALL).alias("runs"))
    found = query.where(RunRow.deleted_at.is_null(), *conditions(seen)).group_by(*columns)
    rows: list[Any] = list(found)
    return Facets(
        env_ids=tuple(sorted({row.env_id for row in rows})),
        algorithms=tuple(sorted({row.algorithm for row in rows})),
        tags=tuple(sorted({tag for row in rows for tag in row.tags_json}, key=str.lower)),
        owners=tuple(sorted({row.owner for row in rows if row.owner is not None})),
        run_count=sum(row.runs for row in rows),
    )


def _keys(wanted: RunFilter, sort: str, number: int, per_page: int) -> list[dict[str, Any]]:
    """Return the keys of a page's entries in order, with the total counts."""
    name, way = sort.lstrip("-"), "DESC" if sort.startswith("-") else "ASC"
    place = _PLACES.get(name, _FIRST)
    counts = (
        fn.COUNT(_ALL).over().alias("entries"),
        fn.SUM(fn.COUNT(_ALL)).over().alias("runs"),
    )
    query = Select([_values(name, wanted).alias("found")], [SQL("key"), *counts])
    query = query.group_by(SQL("key")).order_by(
        SQL(f"{place} IS NULL"), SQL(f"{place} {way}"), SQL(f"key {way}")
    )
    page = query.limit(per_page).offset((number - 1) * per_page)
    return list(page.bind(RunRow._meta.database).dicts())


def _values(name: str, wanted: RunFilter) -> "ModelSelect[RunRow]":
    """Return the sort value of each run and, for scores, its rank and the size of its group."""
    field = fn.LOWER(RunRow.name) if name == "name" else getattr(RunRow, name)
    columns = [_KEY.alias("key"), field.alias("value")]
    if name == "score":
        measured = fn.COUNT(RunRow.score)
        until_here = {"order_by": [RunRow.score], "start": Window.preceding()}
        columns += [
            measured.over(partition_by=[_KEY]).alias("size"),
            measured.over(partition_by=[_KEY], **until_here).alias("nth"),
        ]
    return RunRow.select(*columns).where(RunRow.deleted_at.is_null(), *conditions(wanted))


def _entries(keys: Sequence[str], wanted: RunFilter) -> tuple[tuple[RunRecord, ...], ...]:
    """Return the runs of the entries with these keys, in the same order."""
    if not keys:
        return ()
    rows = RunRow.select().where(
        RunRow.id.in_(keys) | RunRow.group_id.in_(keys),
        RunRow.deleted_at.is_null(),
        *conditions(wanted),
    )
    found: dict[str, list[RunRecord]] = {key: [] for key in keys}
    for row in rows.order_by(RunRow.created_at, RunRow.id):
        found[row.group_id or row.id].append(record(row))
    return tuple(tuple(members) for members in found.values() if members)
