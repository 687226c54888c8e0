"""Publish a run on the Hugging Face Hub, and follow the upload."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, StrictBool, StrictStr

from app.accounts import UnknownThingError
from app.api.shared import RequestShape, Shape, TheAccess, TheLab, TheRun, refusals
from app.sharing import publishing
from app.sharing.publishing import PublicationStatus

RepoId = Annotated[StrictStr, Field(min_length=1, max_length=200)]


class PublishRequest(RequestShape):
    """Where and how to publish a run."""

    repo_id: RepoId
    """`name`, or `owner/name`."""
    token: Annotated[StrictStr, Field(max_length=500)] | None = None
    """Hugging Face token with write access; null: the one of the profile."""
    private: StrictBool = True
    update: StrictBool = False
    """Whether an existing repository may be updated."""
    message: Annotated[StrictStr, Field(max_length=200)] | None = None
    """Commit message of the upload."""

    checkpoint: Any = None
    """`best`, or the step of a pinned checkpoint; null: the final model."""

    def options(self) -> publishing.PublishRequest:
        """Convert to a request to the publishing service, without the token."""
        return publishing.PublishRequest(**self.model_dump(exclude={"token"}))


class Publication(Shape):
    """State of the last upload of a run."""

    repo_id: str
    private: bool
    checkpoint: int | str | None
    """`best`, or the step of a checkpoint; null: the final model."""
    status: PublicationStatus
    progress: float = Field(ge=0, le=1)
    step: str | None
    url: str | None
    code: str | None
    """Error code: `wrong_token`, `no_rights`, `exists`, `no_network` ..."""
    error: str | None
    started_at: datetime
    finished_at: datetime | None


class PreviewedFile(BaseModel):
    """A file that would be uploaded."""

    name: str
    size: int | None
    """null: it is created during the upload."""


class Preview(BaseModel):
    """The model card and files that would be uploaded."""

    card: str
    """The model card, including the metadata block for the Hub."""
    files: list[PreviewedFile]


router = APIRouter(
    prefix="/runs/{run_id}/publish", tags=["artifacts"], responses=refusals(404, 409)
)


@router.post("", status_code=202)
async def publish(
    run_id: str, request: PublishRequest, lab: TheLab, access: TheAccess
) -> Publication:
    """Upload model, normalization, config, results and video; poll for progress."""
    run = await access.changeable(run_id, "run_published")
    token = request.token or access.saved_token()
    begun = await lab.sharing.publishing.start(run, request.options(), token)
    await access.note("run_published", run, repo_id=begun.repo_id)
    return Publication.of(begun)


@router.get("")
async def progress(run: TheRun, lab: TheLab) -> Publication:
    """Return the state of the last upload."""
    found = await lab.sharing.publishing.get(run)
    if found is None:
        raise UnknownThingError("The run was not published yet.")
    return Publication.of(found)


@router.get("/preview")
async def preview(
    run: TheRun,
    lab: TheLab,
    repo_id: Annotated[str, Query(max_length=200)] = "me/model",
    checkpoint: Annotated[str | None, Query(max_length=40)] = None,
) -> Preview:
    """Return the model card and the files as they would be uploaded."""
    upload, sizes = await lab.sharing.publishing.preview(
        run, publishing.PublishRequest(repo_id=repo_id, checkpoint=checkpoint)
    )
    files = [PreviewedFile(name=name, size=size) for name, size in sizes.items()]
    return Preview(card=upload.card, files=files)
