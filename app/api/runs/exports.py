"""Exports of a run for other programs: metrics as CSV or event file, policy as ONNX."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from app.api.shared import ErrorAnswer, TheLab, TheRun
from app.runs import RunService
from app.sharing.bundle import bundle_name
from storage.metrics import metrics
from storage.records import JsonObject, VisibleRun, unfold

_ALWAYS = ("n", "t", "timesteps", "vec_steps", "updates", "episode", "elapsed_s")
"""Position of a line in the training; the first columns of every row."""
_LINES_AT_ONCE = 2_000
_ANYTHING = "application/octet-stream"
_CONTENT: dict[str, dict[str, Any]] = {"text/csv": {}, _ANYTHING: {}, "application/zip": {}}

router = APIRouter(prefix="/runs/{run_id}", tags=["records"])


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        200: {"content": _CONTENT},
        404: {"model": ErrorAnswer},
        409: {"model": ErrorAnswer},
    },
)
async def export(
    run: TheRun,
    lab: TheLab,
    format_: Annotated[Literal["csv", "tensorboard", "onnx"], Query(alias="format")] = "csv",
    names: str | None = None,
) -> Response:
    """Export metrics as CSV (lines with any of `names`, or all) or for TensorBoard, or the policy.

    `onnx` is a zip with the newest policy, its normalization, and `play.py`, which plays it.
    """
    if format_ == "onnx":
        name = bundle_name(run).replace(".rllab.zip", "-onnx.zip")
        content = await lab.sharing.exports.onnx(run)
        return Response(content, media_type="application/zip", headers=_as_file(name))
    if format_ == "tensorboard":
        pieces = lab.sharing.exports.tensorboard(run)
        name = f"events.out.tfevents.{run.created_at:%s}.{run.id[:12]}"
        return StreamingResponse(pieces, media_type=_ANYTHING, headers=_as_file(name))
    return await _table(lab.runs, run, names)


def _as_file(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


async def _table(runs: RunService, run: VisibleRun, names: str | None) -> StreamingResponse:
    path = runs.folder(run).metrics
    columns = [name for name in (names or "").split(",") if name and name not in _ALWAYS]
    if names is None:
        columns = await _all_names(runs, path)
    rows = _rows(runs, path, list(dict.fromkeys(columns)))
    return StreamingResponse(rows, media_type="text/csv", headers=_as_file(f"{run.id}.csv"))


async def _rows(runs: RunService, path: Path, names: Sequence[str]) -> AsyncIterator[str]:
    yield _write([(*_ALWAYS, *names)])
    async for lines in _lines(runs, path):
        found = (line for line in lines if not names or any(name in line for name in names))
        yield _write([line.get(name) for name in (*_ALWAYS, *names)] for line in found)


async def _all_names(runs: RunService, path: Path) -> list[str]:
    names: dict[str, None] = {}
    async for lines in _lines(runs, path):
        for line in lines:
            names |= dict.fromkeys(line)
    return [name for name in names if name not in _ALWAYS and name != "agents"]


async def _lines(runs: RunService, path: Path) -> AsyncIterator[list[JsonObject]]:
    """Yield all lines of a run in batches."""
    reader = metrics.LineReader(path, after=0)
    while raw := await runs.read_on(reader, _LINES_AT_ONCE):
        yield [unfold(msgspec.json.decode(line)) for line in raw]


def _write(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
