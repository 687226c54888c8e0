"""The environments on offer."""

from fastapi import APIRouter
from fastapi.responses import FileResponse

from app.api.dependencies import TheLab
from app.api.errors import ErrorAnswer, NotThereError
from app.api.schemas import Environment, Listing
from app.environments.catalogue import CATALOGUE, get_environment
from app.environments.spec import EnvSpec
from app.errors import UnknownEnvironmentError

router = APIRouter(
    prefix="/environments", tags=["environments"], responses={404: {"model": ErrorAnswer}}
)


@router.get("")
async def list_environments() -> Listing[Environment]:
    """List the environments that can be trained on."""
    return Listing(items=[Environment.of(spec) for spec in CATALOGUE.values()])


# Ids may contain slashes, so the longer address comes first.
@router.get("/{env_id:path}/preview.png", response_class=FileResponse)
async def preview(env_id: str, lab: TheLab) -> FileResponse:
    """Return a rendered picture of an environment."""
    path = await lab.previews.picture(_find(env_id).id)
    headers = {"Cache-Control": "max-age=3600"}
    return FileResponse(path, media_type="image/png", headers=headers)


@router.get("/{env_id:path}")
async def get(env_id: str) -> Environment:
    """Return one environment."""
    return Environment.of(_find(env_id))


def _find(env_id: str) -> EnvSpec:
    try:
        return get_environment(env_id)
    except UnknownEnvironmentError as error:
        raise NotThereError(error) from None
