"""Comparisons of runs and seed groups; the lineage of a run."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response
from pydantic import AliasPath, BaseModel, Field

from app.analysis.comparison import (
    COMPARISON_METHOD,
    SCORE_METRIC,
    AcrossTasks,
    Change,
    Comparing,
    Conclusion,
    Entry,
    Line,
    Measured,
    Numbers,
    final_reward,
    read_keys,
)
from app.api.shared import Listing, RequestShape, Shape, TheAccess, TheLab, refusals
from app.core import InputError
from app.run_config import ShortText
from storage.records import RunStatus, View

MAX_POINTS = 1_500

Axis = Literal["timesteps", "vec_steps", "updates", "episode", "elapsed_s"]

router = APIRouter(
    prefix="/compare",
    tags=["compare"],
    responses=refusals(404, 422),
)


class CompareQuery(RequestShape):
    """What to compare, and the metric of the curves."""

    runs: Annotated[str, Field(max_length=2_000)]
    """Comma-separated ids of runs and, as `g:<id>`, of groups; at most 20."""
    against: ShortText | None = None
    """The reference of the comparison; by default the first entry."""
    metric: ShortText = SCORE_METRIC
    x: Axis = "timesteps"
    max_points: int = Field(default=500, ge=1, le=MAX_POINTS)


class ExportQuery(CompareQuery):
    """What to compare and which part to export."""

    of: Literal["numbers", "curves", "differences"] = "numbers"


class ComparedEntry(Shape):
    """A run or a group in a comparison."""

    key: str
    name: str
    env_id: str
    algorithm: str
    runs: list[str]
    """Ids of its runs."""


class SettingDifference(Shape):
    """A setting in which entries differ, with its value for each entry, in their order."""

    setting: str
    values: list[str | None]


class ComparisonAnswer(BaseModel):
    """A comparison of runs and groups."""

    entries: list[ComparedEntry]
    differences: list[SettingDifference]
    numbers: list[Numbers]
    verdicts: list[Conclusion]
    notes: list[str]
    method: str
    """Statistical method of the conclusions in `verdicts`."""
    curves: list[Line]
    across_tasks: AcrossTasks | None
    """Aggregates of normalized scores; null unless there are several environments."""


def _comparing(lab: TheLab, access: TheAccess) -> Comparing:
    return lab.comparing_for(access)


TheComparing = Annotated[Comparing, Depends(_comparing)]
TheQuery = Annotated[CompareQuery, Query()]


@router.get("")
async def compare(query: TheQuery, comparing: TheComparing) -> ComparisonAnswer:
    """Return different settings, results, conclusions, and the curves of one metric."""
    entries = await _entries(query, comparing)
    found = await comparing.compare(entries, against=query.against)
    return ComparisonAnswer(
        entries=[ComparedEntry.of(entry, runs=[run.id for run in entry.runs]) for entry in entries],
        differences=[SettingDifference.of(difference) for difference in found.differences],
        numbers=list(found.numbers),
        verdicts=list(found.conclusions),
        notes=list(found.notes),
        method=COMPARISON_METHOD,
        curves=await comparing.lines(entries, _view(query)),
        across_tasks=found.across,
    )


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}, "description": "A table"}},
)
async def export(query: Annotated[ExportQuery, Query()], comparing: TheComparing) -> Response:
    """Return the final numbers, the curves of one metric or the different settings as CSV."""
    rows = await _rows(query, comparing)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_plain(cell) for cell in row] for row in rows)
    headers = {"Content-Disposition": f'attachment; filename="compare-{query.of}.csv"'}
    return Response(text.getvalue(), media_type="text/csv", headers=headers)


async def _entries(query: CompareQuery, comparing: Comparing) -> list[Entry]:
    keys = read_keys(query.runs)
    if not keys:
        raise InputError("runs must name at least one run or group.", field="runs")
    if query.against is not None and query.against not in keys:
        raise InputError("against must be one of runs.", field="against")
    return [await comparing.entry(key) for key in keys]


def _view(query: CompareQuery) -> View:
    return View(names=(query.metric,), axis=query.x, max_points=query.max_points)


async def _rows(query: ExportQuery, comparing: Comparing) -> Iterable[Sequence[object]]:
    entries = await _entries(query, comparing)
    names = {entry.key: entry.name for entry in entries}
    if query.of == "curves":
        return _curve_rows(query, names, await comparing.lines(entries, _view(query)))
    found = await comparing.compare(entries)
    if query.of == "differences":
        return [("setting", *names.values()), *((d.setting, *d.values) for d in found.differences)]
    return [_NUMBERS, *(_number_row(numbers, names[numbers.key]) for numbers in found.numbers)]


_NUMBERS = (
    *("key", "name", "seeds", "evaluation", "evaluation_low", "evaluation_high"),
    *("best", "best_low", "best_high", "final", "final_low", "final_high"),
    *("timesteps", "elapsed_s", "solved", "solved_at", "evaluation_kind"),
)


def _number_row(row: Numbers, name: str) -> list[object]:
    measured = [cell for value in (row.evaluation, row.best, row.final) for cell in _cells(value)]
    rest = [row.timesteps, round(row.elapsed_s, 3), row.solved, row.solved_at]
    return [row.key, name, row.seeds, *measured, *rest, row.evaluation_kind]


def _cells(value: Measured | None) -> Sequence[float | None]:
    return (None, None, None) if value is None else (value.value, *(value.ci95 or (None, None)))


def _curve_rows(
    query: ExportQuery, names: dict[str, str], lines: Sequence[Line]
) -> Iterable[Sequence[object]]:
    yield ("key", "name", query.x, query.metric, "low", "high", "seeds")
    for line in lines:
        more = list(zip(line.low, line.high, line.seeds, strict=True))
        for i, (x, y) in enumerate(zip(*(line.means or line.points), strict=True)):
            yield (line.key, names[line.key], x, y, *(more[i] if more else (None, None, 1)))


def _plain(cell: object) -> object:
    """Escape a text that a spreadsheet would interpret as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else cell


lineage_router = APIRouter(
    prefix="/runs/{run_id}/lineage", tags=["compare"], responses=refusals(404)
)


def _of_run(*path: str) -> Any:  # noqa: ANN401 - a field of any type
    return Field(validation_alias=AliasPath("run", *path))


class LineageNode(Shape):
    """A run in a lineage of ancestors and descendants."""

    id: str = _of_run("id")
    name: str = _of_run("name")
    status: RunStatus = _of_run("status")
    timesteps: int = _of_run("progress", "timesteps")
    mean_reward: float | None
    parent: str | None
    from_step: int | None
    """Step of the parent's policy that it started with; null: the newest one."""
    edge: str
    """How it differs from its parent, in words."""
    changes: list[Change]
    """Changes during training; `before` is the step of a policy to branch from."""
    branch_steps: list[int]
    """Steps that can be used in `init_from: <id>@<step>`."""


@lineage_router.get("")
async def lineage(run_id: str, comparing: TheComparing) -> Listing[LineageNode]:
    """Return a run's ancestors and all of their descendants, parents first."""
    found = await comparing.lineage(run_id)
    return Listing(
        items=[LineageNode.of(node, mean_reward=final_reward(node.run)) for node in found]
    )
