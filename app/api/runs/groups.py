"""Seed groups: runs that differ by their seed only, taken together."""

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel

from app.api.shared.dependencies import TheTrainer, describe_all
from app.api.shared.errors import ErrorAnswer
from app.api.shared.schemas import Run
from app.runs.groups import GroupPoint, GroupStatistics, group_statistics

router = APIRouter(prefix="/groups", tags=["groups"], responses={404: {"model": ErrorAnswer}})


class Group(BaseModel):
    """A seed group."""

    group_id: str
    env_id: str
    algorithm: str
    runs: list[Run]
    curve: list[GroupPoint]
    """The interquartile mean of the mean reward over seeds, with a 95 % bootstrap band."""
    statistics: GroupStatistics | None


@router.get("/{group_id}")
async def get(group_id: str, trainer: TheTrainer) -> Group:
    """Return a group's runs, its curve, and what its runs come to."""
    members = await trainer.group(group_id)
    found = group_statistics([dict(run.latest or {}) for run in members])
    return Group(
        group_id=group_id,
        env_id=members[0].env_id,
        algorithm=members[0].algorithm,
        runs=await describe_all(members, trainer),
        curve=list(await trainer.group_curve(members)),
        statistics=GroupStatistics(**asdict(found)) if found else None,
    )
