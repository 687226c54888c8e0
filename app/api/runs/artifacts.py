"""Downloadable files of a run, addressed by a listed name and never by a path."""

import asyncio
from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter, HTTPException, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, StrictBool

from app.api.shared import (
    RANGE_ANSWERS,
    Artifact,
    Listing,
    RangedFile,
    RequestShape,
    TheAccess,
    TheLab,
    TheRun,
    TheShortPage,
    artifacts_of,
    part_of,
    refusals,
)
from app.lab import Lab
from app.sharing.bundle import bundle_name
from app.sharing.versions import Version
from storage.records import VisibleRun

BUNDLE = "bundle.zip"
"""The complete run as one file, created while it is sent."""

_TYPES = {".zip": "application/zip", ".json": "application/json", ".jsonl": "application/x-ndjson"}
_ANYTHING = "application/octet-stream"


class ListedArtifact(BaseModel):
    """A downloadable file of a run, with details if it is a version of the model."""

    name: str
    size: int | None
    """null: it is created on download."""
    created_at: datetime
    url: str
    kind: Literal["final", "best", "checkpoint"] | None = None
    """Version of the model; null: not a model."""
    timesteps: int | None = None
    score: float | None = None
    score_from: Literal["evaluation", "selection", "training"] | None = None
    pinned: bool = False

    @classmethod
    def of(cls, artifact: Artifact, version: Version | None) -> "ListedArtifact":
        """Describe a file."""
        known = {} if version is None else {name: getattr(version, name) for name in _FACTS}
        return cls(**artifact.model_dump(), **known)


_FACTS = ("kind", "timesteps", "score", "score_from", "pinned")


class VersionChanges(RequestShape):
    """Changes to a checkpoint."""

    pinned: StrictBool
    """Whether it is kept regardless of newer checkpoints."""


router = APIRouter(prefix="/runs/{run_id}/artifacts", tags=["artifacts"], responses=refusals(404))


@router.get("")
async def list_artifacts(run: TheRun, lab: TheLab, page: TheShortPage) -> Listing[ListedArtifact]:
    """List the downloadable files; models with their step and score."""
    return part_of(await _list(run, lab), page)


@router.get("/{name}", response_class=RangedFile, responses=RANGE_ANSWERS)
async def download(run: TheRun, name: str, lab: TheLab) -> Response:
    """Download one file, or the complete run as `bundle.zip`."""
    if name == BUNDLE:
        bundle = await lab.sharing.bundle(run)
        headers = {"Content-Disposition": f'attachment; filename="{bundle_name(run)}"'}
        return StreamingResponse(bundle.pieces(), media_type="application/zip", headers=headers)
    files = await asyncio.to_thread(lab.runs.folder(run).artifacts)
    if name not in files:
        raise HTTPException(404)
    path = files[name].path
    return RangedFile(path, media_type=_TYPES.get(path.suffix, _ANYTHING), filename=name)


@router.patch("/{name}")
async def change(
    run_id: str, name: str, changes: VersionChanges, lab: TheLab, access: TheAccess
) -> ListedArtifact:
    """Pin or unpin a checkpoint; unpinned ones are replaced by newer ones."""
    run = await access.changeable(run_id, "run_version_pinned")
    await lab.sharing.pin(run, name, on=changes.pinned)
    listed = await _list(run, lab)
    found = next((artifact for artifact in listed if artifact.name == name), None)
    if found is None:
        raise HTTPException(404)
    return found


async def _list(run: VisibleRun, lab: Lab) -> list[ListedArtifact]:
    files = await asyncio.to_thread(lab.runs.folder(run).artifacts)
    versions = {version.name: version for version in await lab.sharing.versions(run)}
    found = [
        ListedArtifact.of(file, versions.get(file.name)) for file in artifacts_of(run.id, files)
    ]
    url = f"/api/runs/{run.id}/artifacts/{BUNDLE}"
    bundle = ListedArtifact(name=BUNDLE, size=None, created_at=datetime.now(UTC), url=url)
    return [*found, bundle]
