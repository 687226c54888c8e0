"""Runs and seed groups beside each other."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from app.access.run_access import RunAccess
from app.analysis.comparison.comparing import SCORE, Comparing
from app.analysis.comparison.conclusions import METHOD, Verdict
from app.analysis.comparison.entries import Entry, read_keys
from app.analysis.comparison.lineage import Change, Node
from app.analysis.comparison.lines import Line
from app.analysis.comparison.numbers import Measured, Numbers, final_reward
from app.api.shared.dependencies import TheTrainer
from app.api.shared.errors import ErrorAnswer
from app.api.shared.schemas import Listing
from app.core.errors import InputError
from app.run_config.config import ShortText
from storage.records.curves import View
from storage.records.runs import RunStatus

MOST_POINTS = 1_500

Axis = Literal["timesteps", "vec_steps", "updates", "episode", "elapsed_s"]

router = APIRouter(
    prefix="/compare",
    tags=["compare"],
    responses={404: {"model": ErrorAnswer}, 422: {"model": ErrorAnswer}},
)


class CompareQuery(BaseModel):
    """What to compare."""

    model_config = ConfigDict(extra="forbid")

    runs: Annotated[str, Field(max_length=2_000)]
    """Ids of runs and, as `g:<id>`, of groups, separated by commas; at most 20."""
    against: ShortText | None = None
    """Which of them the others are judged against; the first unless said otherwise."""
    metric: ShortText = SCORE
    x: Axis = "timesteps"
    max_points: int = Field(default=500, ge=1, le=MOST_POINTS)


class ExportQuery(CompareQuery):
    """What to write down."""

    of: Literal["numbers", "curves", "differences"] = "numbers"


class Compared(BaseModel):
    """A run or a group of a comparison."""

    key: str
    name: str
    env_id: str
    algorithm: str
    runs: list[str]
    """The ids of its runs."""


class SettingDifference(BaseModel):
    """A setting in which they differ: for each of the entries what it has, in their order."""

    setting: str
    values: list[str | None]


class ComparisonAnswer(BaseModel):
    """Runs and groups beside each other."""

    entries: list[Compared]
    differences: list[SettingDifference]
    numbers: list[Numbers]
    verdicts: list[Verdict]
    notes: list[str]
    method: str
    """How the verdicts come about."""
    curves: list[Line]


TheQuery = Annotated[CompareQuery, Query()]


@router.get("")
async def compare(query: TheQuery, trainer: TheTrainer) -> ComparisonAnswer:
    """Return what differs, what came of it, which is better, and the curves of one metric."""
    comparing = Comparing(trainer)
    entries = await _entries(query, comparing)
    found = await comparing.compare(entries, against=query.against)
    return ComparisonAnswer(
        entries=[
            Compared(
                key=entry.key,
                name=entry.name,
                env_id=entry.env_id,
                algorithm=entry.runs[0].algorithm,
                runs=[run.id for run in entry.runs],
            )
            for entry in entries
        ],
        differences=[
            SettingDifference(setting=one.setting, values=list(one.values))
            for one in found.differences
        ],
        numbers=list(found.numbers),
        verdicts=list(found.verdicts),
        notes=list(found.notes),
        method=METHOD,
        curves=await comparing.lines(entries, _view(query)),
    )


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}, "description": "A table"}},
)
async def export(query: Annotated[ExportQuery, Query()], trainer: TheTrainer) -> Response:
    """Return the final numbers, the curves of one metric or what differs as CSV."""
    rows = await _rows(query, trainer)
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


async def _rows(query: ExportQuery, trainer: RunAccess) -> Iterable[Sequence[object]]:
    comparing = Comparing(trainer)
    entries = await _entries(query, comparing)
    names = {entry.key: entry.name for entry in entries}
    if query.of == "curves":
        return _curve_rows(query, names, await comparing.lines(entries, _view(query)))
    found = await comparing.compare(entries)
    if query.of == "differences":
        return [("setting", *names.values()), *((d.setting, *d.values) for d in found.differences)]
    return [_NUMBERS, *(_number_row(one, names[one.key]) for one in found.numbers)]


_NUMBERS = (
    *("key", "name", "seeds", "evaluation", "evaluation_low", "evaluation_high"),
    *("best", "best_low", "best_high", "final", "final_low", "final_high"),
    *("timesteps", "elapsed_s", "solved", "solved_at"),
)


def _number_row(one: Numbers, name: str) -> list[object]:
    measured = [cell for value in (one.evaluation, one.best, one.final) for cell in _cells(value)]
    rest = [one.timesteps, round(one.elapsed_s, 3), one.solved, one.solved_at]
    return [one.key, name, one.seeds, *measured, *rest]


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
    """Keep a spreadsheet from taking a name for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else cell


lineage_router = APIRouter(
    prefix="/runs/{run_id}/lineage", tags=["compare"], responses={404: {"model": ErrorAnswer}}
)


class Kin(BaseModel):
    """A run among those it came of and those that came of it."""

    id: str
    name: str
    status: RunStatus
    timesteps: int
    mean_reward: float | None
    parent: str | None
    from_step: int | None
    """The step of its parent with whose policy it began; null: the newest one."""
    edge: str
    """What is different about it, in words."""
    changes: list[Change]
    """What was changed while it trained; `before` can be branched from."""
    branch_steps: list[int]
    """Steps for `init_from: <id>@<step>`."""

    @classmethod
    def of(cls, node: Node) -> "Kin":
        """Describe a node."""
        return cls(
            id=node.run.id,
            name=node.run.name,
            status=node.run.status,
            timesteps=node.run.progress.timesteps,
            mean_reward=final_reward(node.run),
            parent=node.parent,
            from_step=node.from_step,
            edge=node.edge,
            changes=list(node.changes),
            branch_steps=list(node.branch_steps),
        )


@lineage_router.get("")
async def lineage(run_id: str, trainer: TheTrainer) -> Listing[Kin]:
    """Return the runs that a run came of and all that came of those, parents first."""
    found = await Comparing(trainer).lineage(run_id)
    return Listing(items=[Kin.of(node) for node in found], next=None)
