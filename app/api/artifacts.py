"""Files of a run, by a name from its list and never by a path."""

import asyncio

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse

from app.api.dependencies import TheTrainer
from app.api.errors import ErrorAnswer
from app.api.schemas import Artifact, Listing

_TYPES = {".zip": "application/zip", ".json": "application/json", ".jsonl": "application/x-ndjson"}
_ANYTHING = "application/octet-stream"


router = APIRouter(prefix="/runs/{run_id}/artifacts", tags=["artifacts"])


@router.get("", responses={404: {"model": ErrorAnswer}})
async def list_artifacts(run_id: str, trainer: TheTrainer) -> Listing[Artifact]:
    """List the files that can be downloaded."""
    run = await trainer.get(run_id)
    files = await asyncio.to_thread(trainer.folder(run.id).artifacts)
    return Listing(items=Artifact.of(run.id, files))


@router.get("/{name}", response_class=FileResponse, responses={404: {"model": ErrorAnswer}})
async def download(run_id: str, name: str, trainer: TheTrainer) -> FileResponse:
    """Download one file."""
    run = await trainer.get(run_id)
    files = await asyncio.to_thread(trainer.folder(run.id).artifacts)
    if name not in files:
        raise HTTPException(404)
    path = files[name].path
    return FileResponse(path, media_type=_TYPES.get(path.suffix, _ANYTHING), filename=name)
