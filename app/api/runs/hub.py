"""Load models from the Hugging Face Hub."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StrictStr

from app.api.shared import RequestShape, Run, TheAccess, TheLab, ToDescribe, refusals
from app.sharing import pulling

Short = Annotated[StrictStr, Field(min_length=1, max_length=200)]


class PullRequest(RequestShape):
    """The public model to load."""

    repo_id: Short
    filename: Short | None = None
    """The zip file, if the repository has several."""
    env_id: Short | None = None
    """The environment of the model, if the repository doesn't name it."""


router = APIRouter(prefix="/hub", tags=["artifacts"])


@router.post("/pull", status_code=201, responses=refusals(409))
async def pull(request: PullRequest, lab: TheLab, access: TheAccess, describe: ToDescribe) -> Run:
    """Create a run from a public Stable-Baselines3 model, to evaluate it."""
    pull_request = pulling.PullRequest(**request.model_dump())
    run = await lab.sharing.pulls.pull(
        pull_request, await access.allow_import("a model of the Hub")
    )
    await access.note("run_imported", run, repo_id=request.repo_id)
    return await describe(run)
