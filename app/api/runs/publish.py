"""Publish a run on the Hugging Face Hub, and follow how that goes."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr

from app.accounts.errors import UnknownThingError
from app.api.shared.dependencies import TheTrainer
from app.api.shared.errors import ErrorAnswer
from app.sharing import publishing
from app.sharing.publishing import PublicationStatus, Wish

_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorAnswer},
    409: {"model": ErrorAnswer},
}

RepoId = Annotated[StrictStr, Field(min_length=1, max_length=200)]


class PublishRequest(BaseModel):
    """Where a run is to be published."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repo_id: RepoId
    """`name`, or `owner/name`."""
    token: Annotated[StrictStr, Field(max_length=500)] | None = None
    """Of Hugging Face, with write access; without one that of the profile is used."""
    private: StrictBool = True
    update: StrictBool = False
    """Whether a repository that exists may get a new version."""
    message: Annotated[StrictStr, Field(max_length=200)] | None = None
    """What the new version is called."""

    def wish(self) -> Wish:
        """Return it as the lab takes it, without the token."""
        return Wish(**self.model_dump(exclude={"token"}))


class Publication(BaseModel):
    """How the last upload of a run goes or went."""

    repo_id: str
    private: bool
    status: PublicationStatus
    progress: float = Field(ge=0, le=1)
    step: str | None
    url: str | None
    code: str | None
    """Why it failed, for programs: `wrong_token`, `no_rights`, `exists`, `no_network` ..."""
    error: str | None
    started_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, found: publishing.Publication) -> "Publication":
        """Describe an upload."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields})


class PreviewedFile(BaseModel):
    """A file that would be uploaded."""

    name: str
    size: int | None
    """null: it is made on the way."""


class Preview(BaseModel):
    """What would be uploaded."""

    card: str
    """The model card, with what the Hub reads on top."""
    files: list[PreviewedFile]


router = APIRouter(prefix="/runs/{run_id}/publish", tags=["artifacts"], responses=_ERRORS)


@router.post("", status_code=202)
async def publish(run_id: str, request: PublishRequest, trainer: TheTrainer) -> Publication:
    """Upload model, scaling, config, results and video; ask again to see how far it is."""
    begun = await trainer.sharing.publish(run_id, request.wish(), request.token)
    return Publication.of(begun)


@router.get("")
async def progress(run_id: str, trainer: TheTrainer) -> Publication:
    """Say how the last upload goes or went."""
    found = await trainer.sharing.publication(run_id)
    if found is None:
        raise UnknownThingError("The run was not published yet.")
    return Publication.of(found)


@router.get("/preview")
async def preview(
    run_id: str, trainer: TheTrainer, repo_id: Annotated[str, Query(max_length=200)] = "me/model"
) -> Preview:
    """Return the model card and the files as they would be uploaded."""
    parcel, sizes = await trainer.sharing.preview(run_id, Wish(repo_id=repo_id))
    files = [PreviewedFile(name=name, size=size) for name, size in sizes.items()]
    return Preview(card=parcel.card, files=files)
