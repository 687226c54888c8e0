"""Evaluations of a run: start, list, cancel, pin; recordings and videos."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field, StrictBool, StrictStr

from app.accounts import GoneError, UnknownThingError
from app.analysis.comparison import human_normalized_evaluation
from app.api.shared import (
    VIDEO_ANSWERS,
    Listing,
    RangedFile,
    RequestShape,
    Shape,
    TheAccess,
    TheLab,
    TheRun,
    evaluable,
    refusals,
)
from app.code_check import MAX_CODE_BYTES
from app.core import InputError
from app.evaluation import EPISODES, MAX_EPISODES, EvaluationStatus, evaluation
from app.lab import Lab
from app.protocol import SeedFamily
from app.run_config import MAX_SEED, WholeNumber
from storage import BadCursorError
from storage.files import is_own_file
from storage.records import ChangeableRun, VisibleRun

_MAX_PER_REQUEST = 100
"""Maximum per API request; the command line allows more."""

_ERRORS = refusals(404)
_WRONG_STATE = refusals(409)


class EvaluationRequest(RequestShape):
    """Which policy to evaluate, and how."""

    episodes: WholeNumber = Field(default=EPISODES, ge=1, le=_MAX_PER_REQUEST)
    deterministic: StrictBool = True
    seed: WholeNumber | None = Field(default=None, ge=0, le=MAX_SEED - MAX_EPISODES)
    """Seed of the first episode; later ones count up from it. Null: the first of the family."""
    seed_family: Literal["test", "final"] = "test"
    """`test` for tests of any policy; `final`: of the final policy, for the score of the run."""
    disturbances: StrictBool = False
    """Whether the noise and the randomization of training apply, too: measures robustness."""
    record: StrictBool = True
    checkpoint: Any = None
    """The step of a checkpoint, or `best`; null: the newest policy."""
    code: Annotated[StrictStr, Field(max_length=MAX_CODE_BYTES)] | None = None
    """Python that defines `evaluate(episode)`; its results are added as `custom`."""

    def checked(self) -> evaluation.EvaluationRequest:
        """Convert to a request to the evaluation service."""
        if self.seed is not None and "seed_family" in self.model_fields_set:
            raise InputError(
                "seed and seed_family exclude each other: the family has its own seeds. Leave one "
                "out.",
                field="seed",
            )
        return evaluation.EvaluationRequest(
            **{**self.model_dump(), "seed_family": SeedFamily(self.seed_family)}
        )


class EvaluationChanges(RequestShape):
    """Changes to an evaluation."""

    pinned: StrictBool
    """Whether its video is kept regardless of newer videos."""


class PageQuery(BaseModel):
    """The requested part of a list."""

    limit: int = Field(default=50, ge=1, le=500)
    cursor: str | None = Field(default=None, max_length=40)


ThePage = Annotated[PageQuery, Query()]


class Video(Shape):
    """Properties of a video."""

    size: int
    width: int
    height: int
    fps: float
    seconds: float
    has_steps: bool
    is_cut: bool
    is_removed: bool


class Evaluation(Shape):
    """An evaluation of a run's policy: its progress, then its results."""

    id: str
    run_id: str
    kind: str
    """`evaluation`, `recording` (an episode of the live view) or `evolution` (joined clips)."""
    status: EvaluationStatus
    error: str | None
    error_line: int | None
    """Line of `code` that caused the error."""
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
    human_normalized: float | None
    """`mean_return` relative to random (0) and human (1) play, for Atari games as they are under
    either protocol; None with other options, another time limit or disturbances."""
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
    seed_family: SeedFamily | None
    """`selection`: seeds of periodic evaluations, which selected the best policy; `test` and
    `final` seeds select nothing; null: seeds of none of these families."""
    step_limit: int | None
    """The step at which episodes were cut; null: the environment has a time limit itself."""
    cut: int
    """Number of episodes that were cut there."""
    successes: int | None
    success_rate: float | None
    """Fraction of episodes that reached the goal, where the environment reports `is_success`."""
    left_out: list[str]
    """Disturbances of training that are disabled here."""
    disturbances: list[str]
    """Disturbances of training that apply here, too."""
    code: str | None
    custom: dict[str, float] | None
    """Results of `code`, averaged over the episodes."""
    custom_per_episode: dict[str, list[float]] | None
    video_url: str | None
    video: Video | None
    video_note: str | None


router = APIRouter(prefix="/runs/{run_id}/evaluations", tags=["evaluations"], responses=_ERRORS)
recordings = APIRouter(prefix="/runs/{run_id}/recordings", tags=["evaluations"], responses=_ERRORS)
evolutions = APIRouter(prefix="/runs/{run_id}/evolutions", tags=["evaluations"], responses=_ERRORS)


@recordings.post("", status_code=202, responses=_WRONG_STATE)
async def record(
    run: Annotated[ChangeableRun, evaluable(uses_disk=True)], lab: TheLab
) -> Evaluation:
    """Record the next complete episode of the live view; use its id at /evaluations."""
    return _shape(await lab.evaluations.record(run), run)


@recordings.get("")
async def list_recordings(run: TheRun, lab: TheLab, page: ThePage) -> Listing[Evaluation]:
    """List recordings, newest first."""
    return _listing(run, await _all(run, lab, "recording"), page)


@evolutions.post("", status_code=202, responses=_WRONG_STATE)
async def create_evolution(
    run: Annotated[ChangeableRun, evaluable(uses_disk=True)], lab: TheLab
) -> Evaluation:
    """Join a run's clips into one video; use its id at /evaluations."""
    return _shape(await lab.evaluations.evolve(run), run)


@evolutions.get("")
async def list_evolutions(run: TheRun, lab: TheLab, page: ThePage) -> Listing[Evaluation]:
    """List evolution videos, newest first."""
    return _listing(run, await _all(run, lab, "evolution"), page)


@router.post("", status_code=202, responses=_WRONG_STATE)
async def start(
    run_id: str, lab: TheLab, access: TheAccess, request: EvaluationRequest | None = None
) -> Evaluation:
    """Evaluate a run's policy on complete episodes, even during training; poll for progress."""
    options = (request or EvaluationRequest()).checked()
    run = await access.evaluable(run_id, code=options.code, uses_disk=options.record)
    return _shape(await lab.evaluations.start(run, options), run)


@router.get("")
async def list_evaluations(run: TheRun, lab: TheLab, page: ThePage) -> Listing[Evaluation]:
    """List evaluations, newest first."""
    return _listing(run, await _all(run, lab, "evaluation"), page)


@router.get("/latest")
async def latest(run: TheRun, lab: TheLab) -> Evaluation:
    """Return the evaluation that was requested last."""
    for found in await _all(run, lab, "evaluation"):
        return _shape(found, run)
    raise UnknownThingError("The run has no evaluation yet.")


@router.get("/{evaluation_id}")
async def get(run: TheRun, evaluation_id: str, lab: TheLab) -> Evaluation:
    """Return one evaluation."""
    return _shape(await lab.evaluations.get(run, evaluation_id), run)


@router.patch("/{evaluation_id}")
async def change(
    run_id: str, evaluation_id: str, changes: EvaluationChanges, lab: TheLab, access: TheAccess
) -> Evaluation:
    """Pin or unpin a video; unpinned ones are replaced by newer ones."""
    run = await access.evaluable(run_id)
    return _shape(await lab.evaluations.pin(run, evaluation_id, on=changes.pinned), run)


@router.post("/{evaluation_id}/cancel", status_code=202, responses=_WRONG_STATE)
async def cancel(
    run: Annotated[ChangeableRun, evaluable()], evaluation_id: str, lab: TheLab
) -> Evaluation:
    """Cancel an evaluation; only its record is kept."""
    return _shape(await lab.evaluations.cancel(run, evaluation_id), run)


@router.get("/{evaluation_id}/video", response_class=RangedFile, responses=VIDEO_ANSWERS)
async def video(
    run: TheRun,
    evaluation_id: str,
    lab: TheLab,
    *,
    download: bool = False,
) -> RangedFile:
    """Return the MP4, or the part named by `Range`; `download` sends it as an attachment."""
    found = await lab.evaluations.get(run, evaluation_id)
    if found.video is None:
        raise UnknownThingError(f"Evaluation {found.id} has no video.")
    path = lab.evaluations.video(found)
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
async def replay(run: TheRun, evaluation_id: str, lab: TheLab) -> Response:
    """Return observation, outputs and action of the policy for each step of the video."""
    found = await lab.evaluations.get(run, evaluation_id)
    if found.video is None or not found.video.has_steps:
        raise UnknownThingError(f"Evaluation {found.id} has no steps.")
    content = await lab.evaluations.replay(found)
    if content is None:
        raise GoneError(f"The steps of evaluation {found.id} were removed with its video.")
    return Response(content, media_type="application/json", headers={"Content-Encoding": "gzip"})


async def _all(run: VisibleRun, lab: Lab, kind: str) -> Sequence[evaluation.Evaluation]:
    return [found for found in await lab.evaluations.list(run) if found.kind == kind]


def _shape(found: evaluation.Evaluation, run: VisibleRun) -> Evaluation:
    normalized = human_normalized_evaluation(run, found)
    return Evaluation.of(found, human_normalized=normalized)


def _listing(
    run: VisibleRun, found: Sequence[evaluation.Evaluation], page: PageQuery
) -> Listing[Evaluation]:
    ids = [item.id for item in found]
    if page.cursor is not None and page.cursor not in ids:
        raise BadCursorError
    begin = 0 if page.cursor is None else ids.index(page.cursor) + 1
    part = found[begin : begin + page.limit]
    following = part[-1].id if begin + page.limit < len(found) else None
    return Listing(items=[_shape(item, run) for item in part], next=following)
