"""What a run left behind: configuration, metrics, event log."""

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Response

from app.api.shared.dependencies import LARGEST, TheTrainer
from app.api.shared.errors import ErrorAnswer
from app.api.shared.schemas import Listing, LogEvent
from storage.metrics import metrics
from storage.records.runs import JsonObject

router = APIRouter(
    prefix="/runs/{run_id}", tags=["records"], responses={404: {"model": ErrorAnswer}}
)


@router.get("/config")
async def config(run_id: str, trainer: TheTrainer) -> dict[str, Any]:
    """Return what was asked for, complete."""
    return dict((await trainer.get(run_id)).config)


@router.get("/metrics", response_model=Listing[dict[str, Any]])
async def read_metrics(
    run_id: str,
    trainer: TheTrainer,
    tail: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    names: str | None = None,
    max_points: Annotated[int | None, Query(ge=3, le=100_000)] = None,
) -> Response:
    """Return lines of metrics: all, the last `tail`, or the shape in `max_points`."""
    await trainer.get(run_id)
    path = trainer.folder(run_id).metrics
    wanted = [name for name in (names or "").split(",") if name]

    def read() -> list[JsonObject]:
        lines = metrics.read_lines(path) if tail is None else metrics.tail_lines(path, tail)
        if max_points is not None:
            return metrics.downsample(lines, max_points=max_points, names=wanted or None)
        return metrics.pick(lines, wanted) if wanted else lines

    def encode() -> bytes:
        return msgspec.json.encode({"items": read(), "next": None})

    # Reading and encoding a long run takes its time, which the event loop doesn't have.
    return Response(await asyncio.to_thread(encode), media_type="application/json")


@router.get("/events")
async def read_events(
    run_id: str,
    trainer: TheTrainer,
    after: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
) -> Listing[LogEvent]:
    """Return the event log, newest first."""
    found = await trainer.events(run_id, after=after, before=cursor, limit=limit + 1)
    following = str(found[limit - 1].id) if len(found) > limit else None
    return Listing(items=[LogEvent.of(event) for event in found[:limit]], next=following)
