"""The three forms of a report: JSON, plain text and an HTML page."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from app.analysis.report.content import Report
from app.analysis.report.page import write_page
from app.analysis.report.values import api_call, settings, write_pairs
from app.core import write_value
from storage.records import JsonObject


class Form(StrEnum):
    """The format of a report."""

    JSON = "json"
    TEXT = "text"
    HTML = "html"


MEDIA_TYPES = {
    Form.JSON: "application/json",
    Form.TEXT: "text/plain; charset=utf-8",
    Form.HTML: "text/html; charset=utf-8",
}


def write_report(report: Report, form: Form) -> bytes:
    """Return a report in one of its forms."""
    match form:
        case Form.JSON:
            return msgspec.json.format(msgspec.json.encode(_as_object(report)), indent=2)
        case Form.TEXT:
            return _as_text(report).encode()
        case Form.HTML:
            return write_page(report).encode()


def _as_object(report: Report) -> JsonObject:
    return {
        "made_at": report.made_at,
        "version": report.version,
        "run": report.run,
        "numbers": {fact.name: fact.value for fact in report.facts},
        "insights": msgspec.to_builtins(report.insights),
        "evaluations": report.evaluations,
        "config": report.config,
        "curves": report.curves,
        "repeat": msgspec.to_builtins(report.repeat),
        "clip": None if report.video is None else {"evaluation": report.video.evaluation},
    }


def _as_text(report: Report) -> str:
    run = report.run
    lines = [
        f"{run['name']}",
        f"{run['algorithm']} on {run['environment']}, {run['status']}, run {run['id']}",
        f"Report of {report.made_at}, RL LAB // GYM MANAGER {report.version}",
        *([f"Error: {run['error']}"] if run["error"] else []),
        *_section("Numbers", (f"{f.name}: {write_value(f.value)}" for f in report.facts)),
        *_section("Insights", _insight_lines(report)),
        *_section("Evaluations", _evaluation_lines(report)),
        *_section("Configuration", (f"{k}: {write_value(v)}" for k, v in settings(report))),
    ]
    if repeat := report.repeat:
        lines += _section("Reproduce it", [repeat.command, api_call(repeat)])
    if code := report.reward_code:
        lines += _section("Reward function (reward.py)", [code])
    if code := report.env_code:
        lines += _section("Environment (environment.py)", [code])
    if run["notes"]:
        lines += _section("Notes", [str(run["notes"])])
    return "\n".join(lines) + "\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return ["", title, "-" * len(title), *(list(lines) or ["none"])]


def _insight_lines(report: Report) -> Iterable[str]:
    for one in report.insights:
        first, last = one.evidence.window
        yield f"[{one.severity.value}] {one.title} ({one.code}, step {one.at:,})"
        yield f"  {one.message}"
        numbers = write_pairs(one.evidence.numbers)
        yield f"  Evidence: {one.evidence.metric}, steps {first:,} to {last:,}: {numbers}"
        yield f"  {one.suggestion}"
        if one.change is not None:
            yield f"  Change: {write_pairs(one.change)}"


def _evaluation_lines(report: Report) -> Iterable[str]:
    for one in report.evaluations:
        yield ", ".join(f"{name} {write_value(value)}" for name, value in one.items())
