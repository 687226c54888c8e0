"""Saved versions of custom rewards; formatting of code."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictStr

from app.api.shared import Listing, RequestShape, Shape, TheLab, ThePrincipal
from app.code_check import MAX_CODE_BYTES
from app.core import format_python
from app.run_config import ShortText

_Code = Annotated[StrictStr, Field(max_length=MAX_CODE_BYTES)]

router = APIRouter(prefix="/reward", tags=["rewards"])


class RewardToSave(RequestShape):
    """A custom reward, valid or not, and its environment."""

    env_id: ShortText
    code: _Code


class SavedReward(Shape):
    """A saved version of a custom reward."""

    version: int = Field(validation_alias="number")
    """Counted from 1 for each environment."""
    code: str
    saved_at: datetime


class CodeToFormat(RequestShape):
    """Python code."""

    code: _Code


class FormattedCode(BaseModel):
    """Python code as ruff formats it."""

    code: str


@router.get("/versions")
async def list_versions(
    lab: TheLab, principal: ThePrincipal, env_id: ShortText
) -> Listing[SavedReward]:
    """List your saved rewards for an environment, newest first; there are at most 30."""
    found = await lab.rewards.versions.list(principal, env_id)
    return Listing(items=[SavedReward.of(version) for version in found])


@router.post("/versions", status_code=201)
async def save_version(body: RewardToSave, lab: TheLab, principal: ThePrincipal) -> SavedReward:
    """Save a reward; code equal to the newest version adds no new one."""
    principal.check_works()
    await lab.environments.find(body.env_id)
    saved = await lab.rewards.versions.save(principal, body.env_id, body.code)
    return SavedReward.of(saved)


@router.post("/format")
async def format_code(body: CodeToFormat, principal: ThePrincipal) -> FormattedCode:
    """Format code without executing it."""
    principal.check_works()
    return FormattedCode(code=await format_python(body.code))
