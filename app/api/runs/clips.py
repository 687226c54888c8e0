"""The time machine of a run: a clip of its policy at moments of its training."""

import asyncio
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel

from app.accounts.errors import GoneError, UnknownThingError
from app.api.shared.dependencies import TheTrainer
from app.api.shared.errors import ErrorAnswer
from app.api.shared.files import VIDEO_ANSWERS, RangedFile
from app.api.shared.paging import TheShortPage, part_of
from app.api.shared.schemas import Listing
from app.runs.execution import time_machine
from storage.files.atomic import is_own_file

_ERRORS: dict[int | str, dict[str, Any]] = {404: {"model": ErrorAnswer}}


class Clip(BaseModel):
    """A few seconds with the policy that a run had at some step, always on the same seed."""

    timesteps: int
    score: float | None
    """What the whole episode brought that the clip begins with; null if it didn't end."""
    url: str
    size: int
    width: int
    height: int
    fps: float
    seconds: float
    created_at: datetime

    @classmethod
    def of(cls, run_id: str, clip: time_machine.Clip) -> "Clip":
        """Describe a clip."""
        return cls(**asdict(clip), url=clip.url(run_id))


router = APIRouter(prefix="/runs/{run_id}/clips", tags=["evaluations"], responses=_ERRORS)


@router.get("")
async def list_clips(run_id: str, trainer: TheTrainer, page: TheShortPage) -> Listing[Clip]:
    """List the clips of a run, earliest first; there are never many."""
    found = await trainer.evaluations.clips(run_id)
    return part_of([Clip.of(run_id, clip) for clip in found], page)


@router.get("/{timesteps}", response_class=RangedFile, responses=VIDEO_ANSWERS)
async def clip(
    run_id: str,
    timesteps: Annotated[int, Path(ge=0, le=2**53)],
    trainer: TheTrainer,
) -> RangedFile:
    """Return the MP4 of the clip at a step, whole or the part that `Range` asks for."""
    found = await trainer.evaluations.clip(run_id, timesteps)
    if found is None:
        raise UnknownThingError(f"The run has no clip of step {timesteps}.")
    _, path = found
    if not await asyncio.to_thread(is_own_file, path):
        raise GoneError(f"The clip of step {timesteps} was removed.")
    return RangedFile(
        path,
        media_type="video/mp4",
        filename=f"step_{timesteps}.mp4",
        content_disposition_type="inline",
    )
