"""Runs: create, list, read, change, start, stop, delete."""

from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from app.api.shared import (
    Listing,
    NewGroup,
    RequestShape,
    Run,
    TheAccess,
    TheLab,
    TheRun,
    ToDescribe,
    changing,
    refusals,
)
from app.catalog.algorithms import get_algorithm
from app.catalog.environments import find_in_catalogue
from app.core import InputError, UnknownAlgorithmError
from app.protocol import ScheduleMode
from app.run_config import (
    LIVE_HYPERPARAMETERS,
    MAX_TIMESTEPS,
    RunLabels,
    RunRequest,
    ShortText,
    WholeNumber,
)
from app.runs import BranchRequest
from storage.records import SORTABLE, ChangeableRun, RunFilter, RunStatus, Visibility

_WHILE_TRAINING = (*LIVE_HYPERPARAMETERS, "total_timesteps", "schedules")
_SHARING = ("visibility", "shared_with")
_ARCHIVED = {"true": True, "false": False, "all": None}


class RunChanges(RunLabels):
    """Changes to a run, possible at any time."""

    visibility: Visibility | None = None
    """Who else may see it: `private` or `everyone`."""
    shared_with: Annotated[list[ShortText], Field(max_length=100)] | None = None
    """E-mail addresses of users who may see it."""
    total_timesteps: WholeNumber | None = Field(default=None, ge=1, le=MAX_TIMESTEPS)
    schedules: ScheduleMode | None = None
    """What another `total_timesteps` does to schedules and exploration: `hold` lets them end at the
    step where they would have ended and keep that value (the default once a run has begun);
    `stretch` spreads them over the new budget."""
    learning_rate: Any = None
    ent_coef: Any = None
    clip_range: Any = None


class RunQuery(RequestShape):
    """Filter, order and page of a list of runs."""

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


router = APIRouter(prefix="/runs", tags=["runs"], responses=refusals(404, 409, 422))


@router.post("", status_code=201)
async def create(request: RunRequest, access: TheAccess, describe: ToDescribe) -> Run | NewGroup:
    """Create a run, or with `seeds` a seed group; `start` queues them at once."""
    runs = await describe.all(await access.create(request))
    group_id = runs[0].group_id
    return runs[0] if group_id is None else NewGroup(group_id=group_id, runs=runs)


@router.get("")
async def list_runs(
    query: Annotated[RunQuery, Query()], lab: TheLab, access: TheAccess, describe: ToDescribe
) -> Listing[Run]:
    """List runs, newest first unless `sort` says otherwise."""
    if query.sort.removeprefix("-") not in SORTABLE:
        raise InputError(
            f"sort must be one of {', '.join(SORTABLE)}, with - in front for descending order.",
            field="sort",
        )
    seen = access.seen(_filter(query))
    page = await lab.runs.list(seen, sort=query.sort, limit=query.limit, cursor=query.cursor)
    return Listing(items=await describe.all(page.items), next=page.next)


@router.get("/{run_id}")
async def get(run: TheRun, describe: ToDescribe) -> Run:
    """Return a run with its newest numbers."""
    return await describe(run)


@router.patch("/{run_id}")
async def change(
    run_id: str, changes: RunChanges, lab: TheLab, access: TheAccess, describe: ToDescribe
) -> Run:
    """Change a run's name, notes, tags, budget, sharing or hyperparameters, or archive it."""
    labels = changes.columns()
    values = changes.model_dump(exclude_none=True)
    for name in _WHILE_TRAINING:
        if name in changes.model_fields_set and getattr(changes, name) is None:
            kind = "hold or stretch" if name == "schedules" else "a number"
            raise InputError(f"{name} must be {kind}, got null.", field=name)
    for name in changes.model_fields_set:
        if getattr(changes, name) is None:
            raise InputError(f"{name} must not be null. Leave it out to keep it.", field=name)
    sharing = {name: values[name] for name in _SHARING if name in values}
    # Everything that may be refused comes first: a failed request must change nothing.
    if sharing:
        await access.check_may_share(run_id, sharing.get("shared_with", ()))
    if adjusted := {name: values[name] for name in _WHILE_TRAINING if name in values}:
        async with access.changing(run_id, "run_changed", changed=adjusted) as run:
            await lab.runs.adjust(run, adjusted)
    if sharing:
        await access.share(run_id, **sharing)
    async with access.changing(run_id, "run_changed", changed=labels) as run:
        changed = await lab.runs.change(run, **labels)
    return await describe(changed)


@router.delete("/{run_id}", status_code=204)
async def delete(run_id: str, lab: TheLab, access: TheAccess) -> None:
    """Delete a run and its files."""
    async with access.deleting(run_id) as run:
        await lab.runs.delete(run)


@router.post("/{run_id}/start", status_code=202)
async def start(
    run: Annotated[ChangeableRun, changing("run_started", trains=True)],
    lab: TheLab,
    describe: ToDescribe,
) -> Run:
    """Queue a run."""
    return await describe(await lab.runs.start(run))


@router.post("/{run_id}/pause", status_code=202)
async def pause(
    run: Annotated[ChangeableRun, changing("run_paused")], lab: TheLab, describe: ToDescribe
) -> Run:
    """Pause a run, keeping its complete state."""
    return await describe(await lab.runs.pause(run))


@router.post("/{run_id}/resume", status_code=202)
async def resume(
    run: Annotated[ChangeableRun, changing("run_resumed", trains=True)],
    lab: TheLab,
    describe: ToDescribe,
) -> Run:
    """Resume a paused run, or an ended one from its last checkpoint."""
    return await describe(await lab.runs.resume(run))


@router.post("/{run_id}/stop", status_code=202)
async def stop(
    run: Annotated[ChangeableRun, changing("run_stopped")], lab: TheLab, describe: ToDescribe
) -> Run:
    """Stop a run soon and save its model."""
    return await describe(await lab.runs.stop(run))


@router.post("/{run_id}/branch", status_code=201)
async def branch(
    run_id: str, changes: BranchRequest, access: TheAccess, describe: ToDescribe
) -> Run:
    """Create a run that continues with this run's newest policy and another reward."""
    return await describe(await access.branch(await access.visible(run_id), changes))


def _filter(query: RunQuery) -> RunFilter:
    return RunFilter(
        status=query.status,
        env_id=_current_id(query.env_id),
        algorithm=_algorithm_id(query.algorithm),
        tag=query.tag,
        group_id=query.group_id,
        owner=query.owner,
        archived=_ARCHIVED[query.archived],
        text=query.q,
    )


def _current_id(env_id: str | None) -> str | None:
    """Return the current id of an environment that may be given by a former one."""
    spec = find_in_catalogue(env_id) if env_id else None
    return spec.id if spec else env_id


def _algorithm_id(algorithm: str | None) -> str | None:
    """Return an algorithm's id in its canonical spelling, if it is known."""
    with suppress(UnknownAlgorithmError):
        return get_algorithm(algorithm).id if algorithm else None
    return algorithm
