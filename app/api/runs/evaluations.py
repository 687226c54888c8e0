"""Evaluations of a run: start, follow, cancel, pin, and their videos."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from app.access.run_access import RunAccess
from app.accounts.errors import GoneError, UnknownThingError
from app.api.shared.dependencies import TheTrainer
from app.api.shared.errors import ErrorAnswer
from app.api.shared.files import VIDEO_ANSWERS, RangedFile
from app.api.shared.schemas import Listing
from app.code_check.static_check import LONGEST
from app.evaluation import evaluation
from app.evaluation.evaluation import EPISODES, MAX_EPISODES, EvaluationOptions, EvaluationStatus
from app.run_config.config import MAX_SEED, WholeNumber
from app.runs.execution.periodic_evaluation import SEED
from storage.errors import BadCursorError
from storage.files.atomic import is_own_file

MOST_EPISODES = 100
"""How many one request may ask for; the command line may ask for more."""

_ERRORS: dict[int | str, dict[str, Any]] = {404: {"model": ErrorAnswer}}
_WRONG_STATE: dict[int | str, dict[str, Any]] = {409: {"model": ErrorAnswer}}


class EvaluationRequest(BaseModel):
    """Which policy to play, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    episodes: WholeNumber = Field(default=EPISODES, ge=1, le=MOST_EPISODES)
    deterministic: StrictBool = True
    seed: WholeNumber = Field(default=SEED, ge=0, le=MAX_SEED - MAX_EPISODES)
    """Of the first episode; the next ones count up from it."""
    record: StrictBool = True
    checkpoint: Any = None
    """The step of a checkpoint, or `best`; without one the newest policy is played."""
    code: Annotated[StrictStr, Field(max_length=LONGEST)] | None = None
    """Python that defines `evaluate(episode)`; what it returns joins the summary as `custom`."""

    def judging(self) -> EvaluationOptions:
        """Return it as the lab takes it."""
        return EvaluationOptions(**self.model_dump())


class EvaluationChanges(BaseModel):
    """What may be changed about an evaluation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pinned: StrictBool
    """Whether its video stays, however many newer ones there are."""


class PageQuery(BaseModel):
    """Which part of a list is asked for."""

    limit: int = Field(default=50, ge=1, le=500)
    cursor: str | None = Field(default=None, max_length=40)


ThePage = Annotated[PageQuery, Query()]


class Video(BaseModel):
    """What is known of a video."""

    size: int
    width: int
    height: int
    fps: float
    seconds: float
    has_steps: bool
    is_cut: bool
    is_removed: bool


class Evaluation(BaseModel):
    """Some episodes with a run's policy: how far they are, then what they say."""

    id: str
    run_id: str
    kind: str
    """`evaluation`; `recording`: one episode of the live view; `evolution`: the run's clips."""
    status: EvaluationStatus
    error: str | None
    error_line: int | None
    """In which line of `code` it failed."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    checkpoint: int | str | None
    timesteps: int | None
    deterministic: bool
    record: bool
    pinned: bool
    episodes: int
    played: int
    mean_return: float | None
    std_return: float | None
    median_return: float | None
    ci95: tuple[float, float] | None
    min: float | None
    max: float | None
    mean_length: float | None
    terminations: dict[str, int] | None
    returns: list[float]
    lengths: list[int]
    seeds: list[int]
    left_out: list[str]
    code: str | None
    custom: dict[str, float] | None
    """What `code` says of the episodes, on average."""
    custom_per_episode: dict[str, list[float]] | None
    video_url: str | None
    video: Video | None
    video_note: str | None

    @classmethod
    def of(cls, found: evaluation.Evaluation) -> "Evaluation":
        """Describe an evaluation."""
        url = f"/api/runs/{found.run_id}/evaluations/{found.id}/video"
        values = asdict(found) | {"video_url": url if found.has_video else None}
        return cls.model_validate({name: values[name] for name in cls.model_fields})


router = APIRouter(prefix="/runs/{run_id}/evaluations", tags=["evaluations"], responses=_ERRORS)
recordings = APIRouter(prefix="/runs/{run_id}/recordings", tags=["evaluations"], responses=_ERRORS)
evolutions = APIRouter(prefix="/runs/{run_id}/evolutions", tags=["evaluations"], responses=_ERRORS)


@recordings.post("", status_code=202, responses=_WRONG_STATE)
async def record(run_id: str, trainer: TheTrainer) -> Evaluation:
    """Film the next whole episode of the live view; all else goes by its id at /evaluations."""
    return Evaluation.of(await trainer.evaluations.record(run_id))


@recordings.get("")
async def list_recordings(run_id: str, trainer: TheTrainer, page: ThePage) -> Listing[Evaluation]:
    """List recordings, newest first."""
    return _listing(await _all(run_id, trainer, "recording"), page)


@evolutions.post("", status_code=202, responses=_WRONG_STATE)
async def evolve(run_id: str, trainer: TheTrainer) -> Evaluation:
    """String a run's clips into one video; all else goes by its id at /evaluations."""
    return Evaluation.of(await trainer.evaluations.evolve(run_id))


@evolutions.get("")
async def list_evolutions(run_id: str, trainer: TheTrainer, page: ThePage) -> Listing[Evaluation]:
    """List evolution videos, newest first."""
    return _listing(await _all(run_id, trainer, "evolution"), page)


@router.post("", status_code=202, responses=_WRONG_STATE)
async def start(
    run_id: str, trainer: TheTrainer, request: EvaluationRequest | None = None
) -> Evaluation:
    """Play whole episodes with a run's policy, also while it trains; ask again to see how far."""
    request = request or EvaluationRequest()
    return Evaluation.of(await trainer.evaluations.start(run_id, request.judging()))


@router.get("")
async def list_evaluations(run_id: str, trainer: TheTrainer, page: ThePage) -> Listing[Evaluation]:
    """List evaluations, newest first."""
    return _listing(await _all(run_id, trainer, "evaluation"), page)


@router.get("/latest")
async def latest(run_id: str, trainer: TheTrainer) -> Evaluation:
    """Return the evaluation that was asked for last."""
    for found in await _all(run_id, trainer, "evaluation"):
        return Evaluation.of(found)
    raise UnknownThingError("The run has no evaluation yet.")


@router.get("/{evaluation_id}")
async def get(run_id: str, evaluation_id: str, trainer: TheTrainer) -> Evaluation:
    """Return one evaluation."""
    return Evaluation.of(await trainer.evaluations.get(run_id, evaluation_id))


@router.patch("/{evaluation_id}")
async def change(
    run_id: str, evaluation_id: str, changes: EvaluationChanges, trainer: TheTrainer
) -> Evaluation:
    """Pin a video, or let newer ones take its place."""
    found = await trainer.evaluations.pin(run_id, evaluation_id, on=changes.pinned)
    return Evaluation.of(found)


@router.post("/{evaluation_id}/cancel", status_code=202, responses=_WRONG_STATE)
async def cancel(run_id: str, evaluation_id: str, trainer: TheTrainer) -> Evaluation:
    """End an evaluation; nothing but its record stays."""
    return Evaluation.of(await trainer.evaluations.cancel(run_id, evaluation_id))


@router.get("/{evaluation_id}/video", response_class=RangedFile, responses=VIDEO_ANSWERS)
async def video(
    run_id: str,
    evaluation_id: str,
    trainer: TheTrainer,
    *,
    download: bool = False,
) -> RangedFile:
    """Return the MP4, whole or the part that `Range` asks for; `download` has it saved."""
    found, path = await trainer.evaluations.video(run_id, evaluation_id)
    if found.video is None:
        raise UnknownThingError(f"Evaluation {found.id} has no video.")
    if found.video.is_removed or not await asyncio.to_thread(is_own_file, path):
        raise GoneError(f"The video of evaluation {found.id} was removed for newer ones.")
    kind = {"evaluation": "eval", "recording": "live"}.get(found.kind, found.kind)
    return RangedFile(
        path,
        media_type="video/mp4",
        filename=f"{kind}_{found.created_at.astimezone(UTC):%Y%m%d-%H%M%S}.mp4",
        content_disposition_type="attachment" if download else "inline",
    )


@router.get(
    "/{evaluation_id}/replay",
    response_class=Response,
    responses={200: {"content": {"application/json": {}}}, 410: VIDEO_ANSWERS[410]},
)
async def replay(run_id: str, evaluation_id: str, trainer: TheTrainer) -> Response:
    """Return what the policy saw, weighed and did in each step that the video shows."""
    found, content = await trainer.evaluations.replay(run_id, evaluation_id)
    if found.video is None or not found.video.has_steps:
        raise UnknownThingError(f"Evaluation {found.id} has no steps.")
    if content is None:
        raise GoneError(f"The steps of evaluation {found.id} were removed with its video.")
    return Response(content, media_type="application/json", headers={"Content-Encoding": "gzip"})


async def _all(run_id: str, trainer: RunAccess, kind: str) -> Sequence[evaluation.Evaluation]:
    return [one for one in await trainer.evaluations.list(run_id) if one.kind == kind]


def _listing(found: Sequence[evaluation.Evaluation], page: PageQuery) -> Listing[Evaluation]:
    ids = [one.id for one in found]
    if page.cursor is not None and page.cursor not in ids:
        raise BadCursorError
    begin = 0 if page.cursor is None else ids.index(page.cursor) + 1
    shown = found[begin : begin + page.limit]
    following = shown[-1].id if begin + page.limit < len(found) else None
    return Listing(items=[Evaluation.of(one) for one in shown], next=following)
