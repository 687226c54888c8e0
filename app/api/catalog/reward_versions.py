"""Rewards that people wrote and saved, and their layout."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictStr

from app.api.shared.dependencies import TheLab, TheVisitor
from app.api.shared.schemas import Listing
from app.code_check.static_check import LONGEST
from app.core.formatting import format_python
from app.run_config.config import ShortText
from storage.files.reward_versions import RewardVersion

_Code = Annotated[StrictStr, Field(max_length=LONGEST)]

router = APIRouter(prefix="/reward", tags=["rewards"])


class RewardToSave(BaseModel):
    """A reward, right or wrong, and the environment that it is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env_id: ShortText
    code: _Code


class SavedReward(BaseModel):
    """A reward as it was saved."""

    version: int
    """Counted from 1 for each environment."""
    code: str
    saved_at: datetime

    @classmethod
    def of(cls, saved: RewardVersion) -> "SavedReward":
        """Describe a version."""
        return cls(version=saved.number, code=saved.code, saved_at=saved.saved_at)


class CodeToFormat(BaseModel):
    """Python."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: _Code


class FormattedCode(BaseModel):
    """The same in the usual layout."""

    code: str


@router.get("/versions")
async def list_versions(
    lab: TheLab, visitor: TheVisitor, env_id: ShortText
) -> Listing[SavedReward]:
    """List one's own for an environment, newest first; there are at most 30."""
    found = await lab.rewards_for(visitor).versions(env_id)
    return Listing(items=[SavedReward.of(version) for version in found])


@router.post("/versions", status_code=201)
async def save_version(wanted: RewardToSave, lab: TheLab, visitor: TheVisitor) -> SavedReward:
    """Save a reward; what is the same as the newest version is that version."""
    visitor.check_works()
    await lab.environments.find(wanted.env_id)
    return SavedReward.of(await lab.rewards_for(visitor).save(wanted.env_id, wanted.code))


@router.post("/format")
async def format_code(wanted: CodeToFormat, visitor: TheVisitor) -> FormattedCode:
    """Lay code out in the usual way; nothing of it is run."""
    visitor.check_works()
    return FormattedCode(code=await format_python(wanted.code))
