"""The time machine of a run: clips of its policy at several steps of its training."""

import asyncio
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path

from app.accounts import GoneError, UnknownThingError
from app.api.shared import (
    VIDEO_ANSWERS,
    Listing,
    RangedFile,
    Shape,
    TheLab,
    TheRun,
    TheShortPage,
    part_of,
    refusals,
)
from storage.files import is_own_file


class Clip(Shape):
    """A few seconds of a run's policy at some step, always with the same seed."""

    timesteps: int
    score: float | None
    """Return of the complete first episode of the clip; null if it didn't end."""
    url: str
    size: int
    width: int
    height: int
    fps: float
    seconds: float
    created_at: datetime


router = APIRouter(prefix="/runs/{run_id}/clips", tags=["evaluations"], responses=refusals(404))


@router.get("")
async def list_clips(run: TheRun, lab: TheLab, page: TheShortPage) -> Listing[Clip]:
    """List the clips of a run, earliest first."""
    found = await lab.evaluations.clips(run)
    return part_of([Clip.of(clip, url=clip.url(run.id)) for clip in found], page)


@router.get("/{timesteps}", response_class=RangedFile, responses=VIDEO_ANSWERS)
async def clip(
    run: TheRun,
    timesteps: Annotated[int, Path(ge=0, le=2**53)],
    lab: TheLab,
) -> RangedFile:
    """Return the MP4 of the clip at a step, or the part named by `Range`."""
    clips = await lab.evaluations.clips(run)
    found = next((clip for clip in clips if clip.timesteps == timesteps), None)
    if found is None:
        raise UnknownThingError(f"The run has no clip of step {timesteps}.")
    path = lab.evaluations.clip_file(run, found)
    if not await asyncio.to_thread(is_own_file, path):
        raise GoneError(f"The clip of step {timesteps} was removed.")
    return RangedFile(
        path,
        media_type="video/mp4",
        filename=f"step_{timesteps}.mp4",
        content_disposition_type="inline",
    )
