"""Bring a run in from another lab."""

from fastapi import APIRouter, Request

from app.api.shared.dependencies import TheTrainer, describe
from app.api.shared.errors import ErrorAnswer
from app.api.shared.schemas import Run

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/zip": _BINARY, "application/octet-stream": _BINARY},
    }
}

router = APIRouter(prefix="/runs", tags=["artifacts"])


@router.post(
    "/import",
    status_code=201,
    openapi_extra=_BODY,
    responses={408: {"model": ErrorAnswer}, 409: {"model": ErrorAnswer}},
)
async def import_run(request: Request, trainer: TheTrainer) -> Run:
    """Make a run of a bundle (the body as it is, at most 512 MiB); a bad one leaves nothing."""
    return await describe(await trainer.sharing.take_in(request.stream()), trainer)
