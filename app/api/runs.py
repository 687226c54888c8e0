"""Runs: create, list, look at, change, start, stop, delete."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from app.api.errors import ErrorAnswer
from app.api.schemas import Listing, LogEvent, Run
from app.errors import InputError
from app.lab import Lab
from app.training.config import Name, RunRequest, Tags
from storage import metrics
from storage.records import RunFilter, RunRecord, RunStatus
from storage.runs import SORTABLE

_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorAnswer},
    409: {"model": ErrorAnswer},
    422: {"model": ErrorAnswer},
}
_ARCHIVED = {"true": True, "false": False, "all": None}


class RunChanges(BaseModel):
    """What may be changed about a run at any time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name | None = None
    notes: Annotated[StrictStr, Field(max_length=65_536)] | None = None
    tags: Tags | None = None
    archived: StrictBool | None = None


class RunQuery(BaseModel):
    """Which runs a list asks for."""

    model_config = ConfigDict(extra="forbid")

    status: RunStatus | None = None
    env_id: str | None = None
    algorithm: str | None = None
    tag: str | None = None
    group_id: str | None = None
    owner: str | None = None
    archived: Literal["true", "false", "all"] = "false"
    q: str | None = None
    sort: str = "-created_at"
    limit: int = Field(default=50, ge=1, le=500)
    cursor: str | None = None


def router(lab: Lab) -> APIRouter:
    """Return the routes of this resource."""
    routes = APIRouter(prefix="/runs", tags=["runs"], responses=_ERRORS)
    trainer = lab.trainer

    async def describe(run: RunRecord) -> Run:
        files = await asyncio.to_thread(lambda: trainer.folder(run.id).artifacts.values())
        return Run.of(run, files)

    @routes.post("", status_code=201)
    async def create(request: RunRequest) -> Run:
        """Create a run; with `start` it is queued at once."""
        return await describe(await trainer.create(request))

    @routes.get("")
    async def list_runs(query: Annotated[RunQuery, Query()]) -> Listing[Run]:
        """List runs, newest first unless `sort` says otherwise."""
        if query.sort.removeprefix("-") not in SORTABLE:
            raise InputError(
                f"sort must be one of {', '.join(SORTABLE)}, with - in front for falling order.",
                field="sort",
            )
        page = await trainer.list(
            _filter(query), sort=query.sort, limit=query.limit, cursor=query.cursor
        )
        return Listing(items=[await describe(run) for run in page.items], next=page.next)

    @routes.get("/{run_id}")
    async def get(run_id: str) -> Run:
        """Return one run with its newest numbers."""
        return await describe(await trainer.get(run_id))

    @routes.patch("/{run_id}")
    async def change(run_id: str, changes: RunChanges) -> Run:
        """Rename a run, or change its notes, tags or whether it is archived."""
        values = changes.model_dump(exclude_none=True)
        if "tags" in values:
            values["tags_json"] = values.pop("tags")
        if not values.get("name", "-").strip():
            raise InputError("name must not be empty.", field="name")
        return await describe(await trainer.change(run_id, **values))

    @routes.delete("/{run_id}", status_code=204)
    async def delete(run_id: str) -> None:
        """Delete a run and its files."""
        await trainer.delete(run_id)

    @routes.post("/{run_id}/start", status_code=202)
    async def start(run_id: str) -> Run:
        """Put a run into the queue."""
        return await describe(await trainer.start(run_id))

    @routes.post("/{run_id}/stop", status_code=202)
    async def stop(run_id: str) -> Run:
        """End a run soon and keep its model."""
        return await describe(await trainer.stop(run_id))

    @routes.get("/{run_id}/config")
    async def config(run_id: str) -> dict[str, Any]:
        """Return what was asked for, complete."""
        return dict((await trainer.get(run_id)).config)

    @routes.get("/{run_id}/metrics")
    async def read_metrics(
        run_id: str,
        tail: Annotated[int | None, Query(ge=1, le=1_000_000)] = None,
        names: str | None = None,
        max_points: Annotated[int | None, Query(ge=3, le=100_000)] = None,
    ) -> Listing[dict[str, Any]]:
        """Return lines of metrics: all, the last `tail`, or the shape in `max_points`."""
        await trainer.get(run_id)
        path = trainer.folder(run_id).metrics
        wanted = [name for name in (names or "").split(",") if name]

        def read() -> list[Any]:
            lines = metrics.read_lines(path) if tail is None else metrics.tail_lines(path, tail)
            if max_points is not None:
                return metrics.downsample(lines, max_points=max_points, names=wanted or None)
            return metrics.pick(lines, wanted) if wanted else lines

        return Listing(items=await asyncio.to_thread(read))

    @routes.get("/{run_id}/events")
    async def read_events(
        run_id: str,
        after: Annotated[int | None, Query(ge=0)] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        cursor: Annotated[int | None, Query(ge=0)] = None,
    ) -> Listing[LogEvent]:
        """Return the event log, newest first."""
        found = await trainer.events(run_id, after=after, before=cursor, limit=limit + 1)
        following = str(found[limit - 1].id) if len(found) > limit else None
        return Listing(items=[LogEvent.of(event) for event in found[:limit]], next=following)

    return routes


def _filter(query: RunQuery) -> RunFilter:
    return RunFilter(
        status=query.status,
        env_id=query.env_id,
        algorithm=query.algorithm,
        tag=query.tag,
        group_id=query.group_id,
        owner=query.owner,
        archived=_ARCHIVED[query.archived],
        text=query.q,
    )
