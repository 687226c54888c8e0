"""Load models from the Hugging Face Hub."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictStr

from app.api.shared.dependencies import TheTrainer, describe
from app.api.shared.errors import ErrorAnswer
from app.api.shared.schemas import Run
from app.sharing.pulling import PullWish

Short = Annotated[StrictStr, Field(min_length=1, max_length=200)]


class PullRequest(BaseModel):
    """Which public model to load."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repo_id: Short
    filename: Short | None = None
    """Which zip, if the repository has several."""
    env_id: Short | None = None
    """Which environment it plays, if the repository doesn't say."""


router = APIRouter(prefix="/hub", tags=["artifacts"])


@router.post("/pull", status_code=201, responses={409: {"model": ErrorAnswer}})
async def pull(request: PullRequest, trainer: TheTrainer) -> Run:
    """Make a run of a public model of Stable-Baselines3 that can be evaluated."""
    wish = PullWish(**request.model_dump())
    return await describe(await trainer.sharing.pull(wish), trainer)
