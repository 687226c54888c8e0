"""What the doctor says about a run, and the report of all there is to say."""

import asyncio
from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel

from app.analysis.insights import insight
from app.analysis.report.forms import MEDIA_TYPES, Form, write_report
from app.api.shared.dependencies import TheTrainer
from app.api.shared.errors import ErrorAnswer
from app.api.shared.paging import TheShortPage, part_of
from app.api.shared.schemas import Listing

router = APIRouter(
    prefix="/runs/{run_id}", tags=["insights"], responses={404: {"model": ErrorAnswer}}
)


class Evidence(BaseModel):
    """The numbers that a finding rests on, and the timesteps that were looked at."""

    metric: str
    window: tuple[int, int]
    numbers: dict[str, float]


class Insight(BaseModel):
    """One finding; `change` is what a new run would have instead."""

    code: str
    severity: insight.Severity
    title: str
    message: str
    evidence: Evidence
    suggestion: str
    change: dict[str, Any] | None
    at: int

    @classmethod
    def of(cls, found: insight.Insight) -> "Insight":
        """Describe a finding."""
        evidence = found.evidence
        return cls(
            code=found.code,
            severity=found.severity,
            title=found.title,
            message=found.message,
            evidence=Evidence(
                metric=evidence.metric, window=evidence.window, numbers=dict(evidence.numbers)
            ),
            suggestion=found.suggestion,
            change=None if found.change is None else dict(found.change),
            at=found.at,
        )


@router.get("/insights")
async def read_insights(run_id: str, trainer: TheTrainer, page: TheShortPage) -> Listing[Insight]:
    """Return what the doctor has found, the most important first."""
    return part_of([Insight.of(found) for found in await trainer.insights(run_id)], page)


@router.get(
    "/report",
    response_class=Response,
    responses={200: {"content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}}},
)
async def read_report(run_id: str, trainer: TheTrainer, format: Form = Form.JSON) -> Response:
    """Return all that there is to say about a run: `json`, `text`, or one `html` page."""
    report = await trainer.report(run_id)
    content = await asyncio.to_thread(write_report, report, format)
    # A page is for keeping: opened from here it would be one of the lab's own.
    headers = {"Content-Disposition": f'attachment; filename="report-{run_id[:12]}.html"'}
    return Response(
        content,
        media_type=MEDIA_TYPES[format],
        headers=headers if format is Form.HTML else None,
    )
