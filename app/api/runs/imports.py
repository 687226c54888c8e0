"""Import a run from another lab."""

from fastapi import APIRouter, Request

from app.api.shared import Run, TheAccess, TheLab, ToDescribe, refusals

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
    responses=refusals(408, 409),
)
async def import_run(request: Request, lab: TheLab, access: TheAccess, describe: ToDescribe) -> Run:
    """Create a run from a bundle (the raw body, at most 512 MiB); an invalid one has no effect."""
    allowance = await access.allow_import("a bundle")
    run = await lab.sharing.imports.import_bundle(request.stream(), allowance)
    await access.note("run_imported", run)
    return await describe(run)
