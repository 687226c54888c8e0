"""Records of a run: configuration, metrics, event log."""

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Response

from app.api.shared import MAX_COUNTER, Listing, LogEvent, TheLab, TheRun, refusals
from app.run_config import settings_of
from storage.metrics import metrics
from storage.records import JsonObject

router = APIRouter(prefix="/runs/{run_id}", tags=["records"], responses=refusals(404))


@router.get("/config")
async def config(run: TheRun) -> dict[str, Any]:
    """Return the complete configuration."""
    return dict(settings_of(run))


@router.get("/metrics", response_model=Listing[dict[str, Any]])
async def read_metrics(
    run: TheRun,
    lab: TheLab,
    tail: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
    names: str | None = None,
    max_points: Annotated[int | None, Query(ge=3, le=100_000)] = None,
) -> Response:
    """Return lines of metrics: all, the last `tail`, or downsampled to `max_points`."""
    path = lab.runs.folder(run).metrics
    selected = [name for name in (names or "").split(",") if name]

    def read() -> list[JsonObject]:
        lines = metrics.read_lines(path) if tail is None else metrics.tail_lines(path, tail)
        if max_points is not None:
            return metrics.downsample(lines, max_points=max_points, names=selected or None)
        return metrics.pick(lines, selected) if selected else lines

    def encode() -> bytes:
        return msgspec.json.encode({"items": read(), "next": None})

    # On a thread: reading and encoding a long run would block the event loop.
    return Response(await asyncio.to_thread(encode), media_type="application/json")


@router.get("/events")
async def read_events(
    run: TheRun,
    lab: TheLab,
    after: Annotated[int | None, Query(ge=0, le=MAX_COUNTER)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[int | None, Query(ge=0, le=MAX_COUNTER)] = None,
) -> Listing[LogEvent]:
    """Return the event log, newest first."""
    found = await lab.runs.events(run, after=after, before=cursor, limit=limit + 1)
    following = str(found[limit - 1].id) if len(found) > limit else None
    return Listing(items=[LogEvent.of(event) for event in found[:limit]], next=following)
