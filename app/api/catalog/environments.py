"""The environments on offer."""

from fastapi import APIRouter
from fastapi.responses import FileResponse

from app.accounts.visitors import Visitor
from app.api.shared.dependencies import TheLab, TheVisitor
from app.api.shared.errors import ErrorAnswer, NotThereError
from app.api.shared.paging import TheShortPage, part_of
from app.api.shared.schemas import Environment, Listing
from app.catalog.environments.catalogue import CATALOGUE
from app.catalog.environments.spec import EnvSpec
from app.core.errors import InputError, NotInstalledError
from app.lab import Lab

router = APIRouter(
    prefix="/environments", tags=["environments"], responses={404: {"model": ErrorAnswer}}
)


@router.get("")
async def list_environments(
    lab: TheLab, visitor: TheVisitor, page: TheShortPage
) -> Listing[Environment]:
    """List the catalogue, and what was written here; whatever else is installed has an address."""
    known = [*CATALOGUE.values(), *lab.custom.specs(visitor)]
    return part_of([Environment.of(spec) for spec in known], page)


# Ids may contain slashes, so the longer address comes first.
@router.get("/{env_id:path}/preview.png", response_class=FileResponse)
async def preview(env_id: str, lab: TheLab, visitor: TheVisitor) -> FileResponse:
    """Return a rendered picture of an environment that is installed."""
    spec = await find_for(env_id, lab, visitor)
    try:
        spec.check_installed()
    except NotInstalledError as error:
        raise NotThereError(error) from None
    path = await lab.previews.picture(spec.id)
    headers = {"Cache-Control": "private, max-age=3600"}
    return FileResponse(path, media_type="image/png", headers=headers)


@router.get("/{env_id:path}")
async def get(env_id: str, lab: TheLab, visitor: TheVisitor) -> Environment:
    """Return one environment, of the catalogue or any other that is installed."""
    return Environment.of(await find_for(env_id, lab, visitor))


async def find_for(env_id: str, lab: Lab, visitor: Visitor) -> EnvSpec:
    """Return an environment that a visitor may see, or answer 404."""
    try:
        lab.environments.check_sees(visitor, env_id)
        return await lab.environments.find(env_id, may_ask=visitor.may_work)
    except InputError as error:
        raise NotThereError(error) from None
