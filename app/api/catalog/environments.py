"""Routes of the environments."""

from fastapi import APIRouter
from fastapi.responses import FileResponse

from app.accounts import Principal
from app.api.shared import (
    Environment,
    Listing,
    PathNotFoundError,
    TheLab,
    ThePrincipal,
    TheShortPage,
    part_of,
    refusals,
)
from app.catalog.environments import ENVIRONMENTS, EnvSpec
from app.core import InputError, NotInstalledError
from app.lab import Lab

router = APIRouter(prefix="/environments", tags=["environments"], responses=refusals(404))


@router.get("")
async def list_environments(
    lab: TheLab, principal: ThePrincipal, page: TheShortPage
) -> Listing[Environment]:
    """List the catalogue and custom environments; other installed ones are found by id."""
    known = [*ENVIRONMENTS.values(), *lab.custom.specs(principal)]
    return part_of([Environment.of(spec) for spec in known], page)


# Ids may contain slashes, so the longer path comes first.
@router.get("/{env_id:path}/preview.png", response_class=FileResponse)
async def preview(env_id: str, lab: TheLab, principal: ThePrincipal) -> FileResponse:
    """Return the preview image of an installed environment."""
    spec = await find_for(env_id, lab, principal)
    try:
        spec.check_installed()
    except NotInstalledError as error:
        raise PathNotFoundError(error) from None
    path = await lab.previews.image(spec.id)
    headers = {"Cache-Control": "private, max-age=3600"}
    return FileResponse(path, media_type="image/png", headers=headers)


@router.get("/{env_id:path}")
async def get(env_id: str, lab: TheLab, principal: ThePrincipal) -> Environment:
    """Return one environment: of the catalogue, a custom one, or any other installed one."""
    return Environment.of(await find_for(env_id, lab, principal))


async def find_for(env_id: str, lab: Lab, principal: Principal) -> EnvSpec:
    """Return an environment that a principal may see; otherwise the answer is 404."""
    try:
        lab.environments.check_sees(principal, env_id)
        return await lab.environments.find(env_id, ask_worker=principal.may_work)
    except InputError as error:
        raise PathNotFoundError(error) from None
