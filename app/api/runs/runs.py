"""Runs: create, list, look at, change, start, stop, delete."""

from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from app.api.shared.dependencies import TheTrainer, describe, describe_all
from app.api.shared.errors import ErrorAnswer
from app.api.shared.schemas import Listing, NewGroup, Run
from app.catalog.algorithms.catalogue import get_algorithm
from app.catalog.environments.catalogue import find_in_catalogue
from app.core.errors import InputError, UnknownAlgorithmError
from app.run_config.config import MAX_TIMESTEPS, RunRequest, ShortText, WholeNumber
from app.run_config.labels import RunLabels
from app.runs.branching import BranchRequest
from storage.records.history import SORTABLE
from storage.records.runs import RunFilter, RunStatus, Visibility

_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorAnswer},
    409: {"model": ErrorAnswer},
    422: {"model": ErrorAnswer},
}
_WHILE_TRAINING = ("learning_rate", "ent_coef", "clip_range", "total_timesteps")
_SHARING = ("visibility", "shared_with")
_ARCHIVED = {"true": True, "false": False, "all": None}


class RunChanges(RunLabels):
    """What may be changed about a run at any time."""

    visibility: Visibility | None = None
    """private or everyone; who may look beside the owner."""
    shared_with: Annotated[list[ShortText], Field(max_length=100)] | None = None
    """The e-mail addresses of people who may look."""
    total_timesteps: WholeNumber | None = Field(default=None, ge=1, le=MAX_TIMESTEPS)
    learning_rate: Any = None
    ent_coef: Any = None
    clip_range: Any = None


class RunQuery(BaseModel):
    """Which runs a list asks for."""

    model_config = ConfigDict(extra="forbid")

    status: RunStatus | None = None
    env_id: ShortText | None = None
    algorithm: ShortText | None = None
    tag: ShortText | None = None
    group_id: ShortText | None = None
    owner: ShortText | None = None
    archived: Literal["true", "false", "all"] = "false"
    q: ShortText | None = None
    sort: str = "-created_at"
    limit: int = Field(default=50, ge=1, le=500)
    cursor: str | None = None


router = APIRouter(prefix="/runs", tags=["runs"], responses=_ERRORS)


@router.post("", status_code=201)
async def create(request: RunRequest, trainer: TheTrainer) -> Run | NewGroup:
    """Create a run, or with `seeds` a group of them; with `start` they are queued at once."""
    if request.seeds is None:
        return await describe(await trainer.create(request), trainer)
    made = await trainer.create_group(request)
    return NewGroup(group_id=made[0].group_id or "", runs=await describe_all(made, trainer))


@router.get("")
async def list_runs(query: Annotated[RunQuery, Query()], trainer: TheTrainer) -> Listing[Run]:
    """List runs, newest first unless `sort` says otherwise."""
    if query.sort.removeprefix("-") not in SORTABLE:
        raise InputError(
            f"sort must be one of {', '.join(SORTABLE)}, with - in front for falling order.",
            field="sort",
        )
    page = await trainer.list(
        _filter(query), sort=query.sort, limit=query.limit, cursor=query.cursor
    )
    return Listing(items=await describe_all(page.items, trainer), next=page.next)


@router.get("/{run_id}")
async def get(run_id: str, trainer: TheTrainer) -> Run:
    """Return one run with its newest numbers."""
    return await describe(await trainer.get(run_id), trainer)


@router.patch("/{run_id}")
async def change(run_id: str, changes: RunChanges, trainer: TheTrainer) -> Run:
    """Rename a run, change its notes, tags or budget, archive, share, or steer it."""
    labels = changes.columns()
    values = changes.model_dump(exclude_none=True)
    for name in _WHILE_TRAINING:
        if name in changes.model_fields_set and getattr(changes, name) is None:
            raise InputError(f"{name} must be a number, got null.", field=name)
    for name in changes.model_fields_set:
        if getattr(changes, name) is None:
            raise InputError(f"{name} must not be null. Leave it out to keep it.", field=name)
    sharing = {name: values[name] for name in _SHARING if name in values}
    # All that may be refused comes first: a request that fails has changed nothing.
    if sharing:
        await trainer.check_may_share(run_id, sharing.get("shared_with", ()))
    if wishes := {name: values[name] for name in _WHILE_TRAINING if name in values}:
        await trainer.adjust(run_id, wishes)
    if sharing:
        await trainer.share(run_id, **sharing)
    return await describe(await trainer.change(run_id, **labels), trainer)


@router.delete("/{run_id}", status_code=204)
async def delete(run_id: str, trainer: TheTrainer) -> None:
    """Delete a run and its files."""
    await trainer.delete(run_id)


@router.post("/{run_id}/start", status_code=202)
async def start(run_id: str, trainer: TheTrainer) -> Run:
    """Put a run into the queue."""
    return await describe(await trainer.start(run_id), trainer)


@router.post("/{run_id}/pause", status_code=202)
async def pause(run_id: str, trainer: TheTrainer) -> Run:
    """Let a run wait, with everything it has."""
    return await describe(await trainer.pause(run_id), trainer)


@router.post("/{run_id}/resume", status_code=202)
async def resume(run_id: str, trainer: TheTrainer) -> Run:
    """Let a paused run go on, or an ended one from its last checkpoint."""
    return await describe(await trainer.resume(run_id), trainer)


@router.post("/{run_id}/stop", status_code=202)
async def stop(run_id: str, trainer: TheTrainer) -> Run:
    """End a run soon and keep its model."""
    return await describe(await trainer.stop(run_id), trainer)


@router.post("/{run_id}/branch", status_code=201)
async def branch(run_id: str, wish: BranchRequest, trainer: TheTrainer) -> Run:
    """Make a run that goes on with the newest policy of this one and another reward."""
    return await describe(await trainer.branch(run_id, wish), trainer)


def _filter(query: RunQuery) -> RunFilter:
    return RunFilter(
        status=query.status,
        env_id=_today_s_id(query.env_id),
        algorithm=_own_name(query.algorithm),
        tag=query.tag,
        group_id=query.group_id,
        owner=query.owner,
        archived=_ARCHIVED[query.archived],
        text=query.q,
    )


def _today_s_id(env_id: str | None) -> str | None:
    """Return the id under which runs of a former one are kept."""
    spec = find_in_catalogue(env_id) if env_id else None
    return spec.id if spec else env_id


def _own_name(algorithm: str | None) -> str | None:
    """Return an algorithm's id, however it was written."""
    with suppress(UnknownAlgorithmError):
        return get_algorithm(algorithm).id if algorithm else None
    return algorithm
