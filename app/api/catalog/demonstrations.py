"""Episodes that people played and kept."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from app.api.shared.dependencies import TheLab, TheVisitor
from app.api.shared.errors import ErrorAnswer
from app.api.shared.files import RANGE_ANSWERS, RangedFile
from app.api.shared.schemas import Listing
from storage.files.demonstrations import Demonstration

router = APIRouter(
    prefix="/demonstrations", tags=["demonstrations"], responses={404: {"model": ErrorAnswer}}
)


class KeptDemonstration(BaseModel):
    """An episode that somebody played."""

    id: str
    env_id: str
    seed: int
    steps: int
    total: float
    """What it was worth."""
    has_observations: bool
    """Pixels are left out; the seed and the actions lead to them again."""
    created_at: datetime
    size: int
    url: str

    @classmethod
    def of(cls, kept: Demonstration) -> "KeptDemonstration":
        """Describe a demonstration."""
        return cls(
            id=kept.id,
            env_id=kept.env_id,
            seed=kept.seed,
            steps=kept.steps,
            total=kept.total,
            has_observations=kept.has_observations,
            created_at=kept.created_at,
            size=kept.size,
            url=f"/api/demonstrations/{kept.id}",
        )


@router.get("")
async def list_demonstrations(
    lab: TheLab, visitor: TheVisitor, env_id: str | None = None
) -> Listing[KeptDemonstration]:
    """List one's own, newest first; there are at most 200."""
    found = await lab.demonstrations.list(visitor, env_id)
    return Listing(items=[KeptDemonstration.of(kept) for kept in found])


@router.get("/{demonstration_id}", response_class=RangedFile, responses=RANGE_ANSWERS)
async def download(demonstration_id: str, lab: TheLab, visitor: TheVisitor) -> RangedFile:
    """Return one as an .npz: observations, actions, rewards, terminated, truncated, dones, seed."""
    path = await lab.demonstrations.path(visitor, demonstration_id)
    return RangedFile(
        path, media_type="application/octet-stream", filename=f"demonstration-{path.stem[:8]}.npz"
    )


@router.delete("/{demonstration_id}", status_code=204)
async def delete(demonstration_id: str, lab: TheLab, visitor: TheVisitor) -> None:
    """Delete one."""
    await lab.demonstrations.delete(visitor, demonstration_id)
