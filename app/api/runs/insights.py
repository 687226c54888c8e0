"""Insights of the doctor about a run, and its full report."""

import asyncio
from typing import Any

from fastapi import APIRouter, Response

from app.analysis.insights import insight
from app.analysis.report import MEDIA_TYPES, Form, write_report
from app.api.shared import Listing, Shape, TheLab, TheRun, TheShortPage, part_of, refusals

router = APIRouter(prefix="/runs/{run_id}", tags=["insights"], responses=refusals(404))


class Evidence(Shape):
    """The numbers behind an insight, and the range of timesteps that they cover."""

    metric: str
    window: tuple[int, int]
    numbers: dict[str, float]


class Insight(Shape):
    """One insight; `change` is the suggested change for a new run."""

    code: str
    severity: insight.Severity
    title: str
    message: str
    evidence: Evidence
    suggestion: str
    change: dict[str, Any] | None
    at: int


@router.get("/insights")
async def read_insights(run: TheRun, lab: TheLab, page: TheShortPage) -> Listing[Insight]:
    """Return the insights of the doctor, most important first."""
    return part_of([Insight.of(found) for found in await lab.doctor.insights(run)], page)


@router.get(
    "/report",
    response_class=Response,
    responses={200: {"content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}}},
)
async def read_report(run: TheRun, lab: TheLab, format: Form = Form.JSON) -> Response:
    """Return the full report of a run as `json`, `text` or one `html` page."""
    report = await lab.reports.make(run)
    content = await asyncio.to_thread(write_report, report, format)
    # As an attachment: opened directly, the page would run in the lab's own origin.
    headers = {"Content-Disposition": f'attachment; filename="report-{run.id[:12]}.html"'}
    return Response(
        content,
        media_type=MEDIA_TYPES[format],
        headers=headers if format is Form.HTML else None,
    )
