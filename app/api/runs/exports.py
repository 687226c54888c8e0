"""A run for other programs: its metrics as a table or event file, its policy as ONNX."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from app.access.run_access import RunAccess
from app.api.shared.dependencies import TheTrainer
from app.api.shared.errors import ErrorAnswer
from app.sharing.bundle import bundle_name
from storage.metrics import metrics
from storage.records.curves import unfold
from storage.records.runs import JsonObject

_ALWAYS = ("n", "t", "timesteps", "vec_steps", "updates", "episode", "elapsed_s")
"""Where a line belongs; every row begins with it."""
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
    run_id: str,
    trainer: TheTrainer,
    format_: Annotated[Literal["csv", "tensorboard", "onnx"], Query(alias="format")] = "csv",
    names: str | None = None,
) -> Response:
    """Return metrics as CSV (lines with any of `names`, or all) or for TensorBoard, or the policy.

    `onnx` is a zip of the newest policy, scaling included, and `play.py`, which plays it.
    """
    run = await trainer.get(run_id)
    if format_ == "onnx":
        name = bundle_name(run).replace(".rllab.zip", "-onnx.zip")
        content = await trainer.sharing.onnx(run.id)
        return Response(content, media_type="application/zip", headers=_as_file(name))
    if format_ == "tensorboard":
        pieces = await trainer.sharing.tensorboard(run.id)
        name = f"events.out.tfevents.{run.created_at:%s}.{run.id[:12]}"
        return StreamingResponse(pieces, media_type=_ANYTHING, headers=_as_file(name))
    return await _table(trainer, run.id, names)


def _as_file(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


async def _table(trainer: RunAccess, run_id: str, names: str | None) -> StreamingResponse:
    wanted = [name for name in (names or "").split(",") if name and name not in _ALWAYS]
    if names is None:
        wanted = await _all_names(trainer, run_id)
    rows = _rows(trainer, run_id, list(dict.fromkeys(wanted)))
    return StreamingResponse(rows, media_type="text/csv", headers=_as_file(f"{run_id}.csv"))


async def _rows(trainer: RunAccess, run_id: str, names: Sequence[str]) -> AsyncIterator[str]:
    yield _write([(*_ALWAYS, *names)])
    async for lines in _lines(trainer, run_id):
        found = (line for line in lines if not names or any(name in line for name in names))
        yield _write([line.get(name) for name in (*_ALWAYS, *names)] for line in found)


async def _all_names(trainer: RunAccess, run_id: str) -> list[str]:
    names: dict[str, None] = {}
    async for lines in _lines(trainer, run_id):
        for line in lines:
            names |= dict.fromkeys(line)
    return [name for name in names if name not in _ALWAYS and name != "agents"]


async def _lines(trainer: RunAccess, run_id: str) -> AsyncIterator[list[JsonObject]]:
    """Yield all lines of a run, a few at a time."""
    reader = metrics.LineReader(trainer.folder(run_id).metrics, after=0)
    while raw := await trainer.read_on(reader, _LINES_AT_ONCE):
        yield [unfold(msgspec.json.decode(line)) for line in raw]


def _write(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
