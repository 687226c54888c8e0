"""Demonstrations: episodes that users played and saved."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import Field

from app.api.shared import RANGE_ANSWERS, Listing, RangedFile, Shape, TheLab, ThePrincipal, refusals

router = APIRouter(prefix="/demonstrations", tags=["demonstrations"], responses=refusals(404))


class Demonstration(Shape):
    """A saved episode that a user played."""

    id: str
    env_id: str
    seed: int
    steps: int
    total: float
    """The return of the episode."""
    has_observations: bool
    """Pixels are not stored; seed and actions reproduce them."""
    created_at: datetime
    size: int
    url: str = Field(default_factory=lambda known: f"/api/demonstrations/{known['id']}")


@router.get("")
async def list_demonstrations(
    lab: TheLab, principal: ThePrincipal, env_id: str | None = None
) -> Listing[Demonstration]:
    """List your demonstrations, newest first; there are at most 200."""
    found = await lab.demonstrations.list(principal, env_id)
    return Listing(items=[Demonstration.of(demonstration) for demonstration in found])


@router.get("/{demonstration_id}", response_class=RangedFile, responses=RANGE_ANSWERS)
async def download(demonstration_id: str, lab: TheLab, principal: ThePrincipal) -> RangedFile:
    """Return an .npz with observations, actions, rewards, terminated, truncated, dones, seed."""
    path = await lab.demonstrations.path(principal, demonstration_id)
    return RangedFile(
        path, media_type="application/octet-stream", filename=f"demonstration-{path.stem[:8]}.npz"
    )


@router.delete("/{demonstration_id}", status_code=204)
async def delete(demonstration_id: str, lab: TheLab, principal: ThePrincipal) -> None:
    """Delete a demonstration."""
    await lab.demonstrations.delete(principal, demonstration_id)
