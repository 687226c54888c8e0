"""Seed groups: runs that differ only in their seed."""

from fastapi import APIRouter
from pydantic import BaseModel

from app.api.shared import Run, TheAccess, TheLab, ToDescribe, refusals
from app.runs import GroupPoint, GroupStatistics, group_statistics

router = APIRouter(prefix="/groups", tags=["groups"], responses=refusals(404))


class Group(BaseModel):
    """A seed group with its runs and statistics."""

    group_id: str
    env_id: str
    algorithm: str
    runs: list[Run]
    curve: list[GroupPoint]
    """Interquartile mean over seeds of the mean reward, with its 95 % interval."""
    statistics: GroupStatistics | None


@router.get("/{group_id}")
async def get(group_id: str, lab: TheLab, access: TheAccess, describe: ToDescribe) -> Group:
    """Return a group's runs, curve and statistics."""
    members = await access.group(group_id)
    found = group_statistics(members)
    return Group(
        group_id=group_id,
        env_id=members[0].env_id,
        algorithm=members[0].algorithm,
        runs=await describe.all(members),
        curve=list(await lab.runs.group_curve(members)),
        statistics=found,
    )
