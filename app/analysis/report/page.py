"""A report as one self-contained HTML page."""

import base64
from pathlib import Path

from app.analysis.report.charts import Chart, chart
from app.analysis.report.content import Report
from app.analysis.report.gathering import CURVES
from app.analysis.report.values import api_call, settings, write_pairs
from app.core import templates, write_value

_TEMPLATES = templates(Path(__file__).parent)
_TEMPLATES.filters |= {"written": write_value, "pairs": write_pairs}


def write_page(report: Report) -> str:
    """Return the HTML of a report."""
    video = report.video
    return _TEMPLATES.get_template("page.html").render(
        report=report,
        charts=_charts(report),
        settings=settings(report),
        call=report.repeat and api_call(report.repeat),
        video=None if video is None else base64.b64encode(video.content).decode(),
    )


def _charts(report: Report) -> list[Chart]:
    problems = [one.evidence for one in report.insights if one.severity.is_problem]
    return [
        chart(CURVES[name], points, windows=[one.window for one in problems if one.metric == name])
        for name, points in report.curves.items()
    ]
