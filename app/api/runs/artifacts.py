"""Files of a run, by a name from its list and never by a path."""

import asyncio
from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, StrictBool

from app.access.run_access import RunAccess
from app.api.shared.dependencies import TheTrainer
from app.api.shared.errors import ErrorAnswer
from app.api.shared.files import RANGE_ANSWERS, RangedFile
from app.api.shared.paging import TheShortPage, part_of
from app.api.shared.schemas import Artifact, Listing
from app.sharing.bundle import bundle_name
from app.sharing.versions import Version
from storage.records.runs import RunRecord

BUNDLE = "bundle.zip"
"""All of a run as one file, made while it is read."""

_TYPES = {".zip": "application/zip", ".json": "application/json", ".jsonl": "application/x-ndjson"}
_ANYTHING = "application/octet-stream"


class ListedArtifact(BaseModel):
    """A file of a run that can be downloaded, and what is known of the model in it."""

    name: str
    size: int | None
    """null: it is made when it is asked for."""
    created_at: datetime
    url: str
    kind: Literal["final", "best", "checkpoint"] | None = None
    """Which version of the model it is, if it is one."""
    timesteps: int | None = None
    score: float | None = None
    score_from: Literal["evaluation", "training"] | None = None
    pinned: bool = False

    @classmethod
    def of(cls, artifact: Artifact, version: Version | None) -> "ListedArtifact":
        """Describe a file."""
        known = {} if version is None else {name: getattr(version, name) for name in _FACTS}
        return cls(**artifact.model_dump(), **known)


_FACTS = ("kind", "timesteps", "score", "score_from", "pinned")


class VersionChanges(BaseModel):
    """What may be changed about a checkpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pinned: StrictBool
    """Whether it stays, however many newer ones there are."""


router = APIRouter(
    prefix="/runs/{run_id}/artifacts", tags=["artifacts"], responses={404: {"model": ErrorAnswer}}
)


@router.get("")
async def list_artifacts(
    run_id: str, trainer: TheTrainer, page: TheShortPage
) -> Listing[ListedArtifact]:
    """List the files that can be downloaded; models with their step and score."""
    return part_of(await _list(await trainer.get(run_id), trainer), page)


@router.get("/{name}", response_class=RangedFile, responses=RANGE_ANSWERS)
async def download(run_id: str, name: str, trainer: TheTrainer) -> Response:
    """Download one file, or the whole run as `bundle.zip`."""
    run = await trainer.get(run_id)
    if name == BUNDLE:
        bundle = await trainer.sharing.bundle(run.id)
        headers = {"Content-Disposition": f'attachment; filename="{bundle_name(run)}"'}
        return StreamingResponse(bundle.pieces(), media_type="application/zip", headers=headers)
    files = await asyncio.to_thread(trainer.folder(run.id).artifacts)
    if name not in files:
        raise HTTPException(404)
    path = files[name].path
    return RangedFile(path, media_type=_TYPES.get(path.suffix, _ANYTHING), filename=name)


@router.patch("/{name}")
async def change(
    run_id: str, name: str, changes: VersionChanges, trainer: TheTrainer
) -> ListedArtifact:
    """Keep a checkpoint for good, or let newer ones take its place."""
    await trainer.sharing.pin(run_id, name, on=changes.pinned)
    listed = await _list(await trainer.get(run_id), trainer)
    found = next((one for one in listed if one.name == name), None)
    if found is None:
        raise HTTPException(404)
    return found


async def _list(run: RunRecord, trainer: RunAccess) -> list[ListedArtifact]:
    files = await asyncio.to_thread(trainer.folder(run.id).artifacts)
    versions = {version.name: version for version in await trainer.sharing.versions(run.id)}
    found = [
        ListedArtifact.of(file, versions.get(file.name)) for file in Artifact.of(run.id, files)
    ]
    url = f"/api/runs/{run.id}/artifacts/{BUNDLE}"
    made = ListedArtifact(name=BUNDLE, size=None, created_at=datetime.now(UTC), url=url)
    return [*found, made]
