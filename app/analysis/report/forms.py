"""The three forms of a report: JSON for programs, text for letters, a page for people."""

import base64
import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from html import escape
from typing import Any

import msgspec

from app.analysis.insights.insight import Insight
from app.analysis.report.charts import chart
from app.analysis.report.content import Report
from app.analysis.report.gathering import CURVES
from app.analysis.report.page import PAGE
from storage.records.runs import JsonObject


class Form(StrEnum):
    """How a report is written."""

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
            return _as_page(report).encode()


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
        "clip": None if report.clip is None else {"evaluation": report.clip.evaluation},
    }


def _as_text(report: Report) -> str:
    run = report.run
    lines = [
        f"{run['name']}",
        f"{run['algorithm']} on {run['env_id']}, {run['status']}, run {run['id']}",
        f"Report of {report.made_at}, RL LAB // GYM MANAGER {report.version}",
        *([f"Error: {run['error']}"] if run["error"] else []),
        *_section("Numbers", (f"{f.name}: {_write(f.value)}" for f in report.facts)),
        *_section("Insights", _insight_lines(report)),
        *_section("Evaluations", _evaluation_lines(report)),
        *_section("Configuration", (f"{k}: {_write(v)}" for k, v in _settings(report))),
        *_section("Repeat it", [report.repeat.command, _call(report)]),
    ]
    if code := report.config.get("reward_code"):
        lines += _section("Reward function (reward.py)", [code])
    if code := report.config.get("env_code"):
        lines += _section("Environment (environment.py)", [code])
    if run["notes"]:
        lines += _section("Notes", [str(run["notes"])])
    return "\n".join(lines) + "\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return ["", title, "-" * len(title), *(list(lines) or ["none"])]


def _insight_lines(report: Report) -> Iterable[str]:
    for one in report.insights:
        first, last = one.evidence.window
        numbers = ", ".join(f"{k} {_write(v)}" for k, v in one.evidence.numbers.items())
        yield f"[{one.severity.value}] {one.title} ({one.code}, step {one.at:,})"
        yield f"  {one.message}"
        yield f"  Evidence: {one.evidence.metric}, steps {first:,} to {last:,}: {numbers}"
        yield f"  {one.suggestion}"
        if one.change is not None:
            yield f"  Change: {_change(one.change)}"


def _evaluation_lines(report: Report) -> Iterable[str]:
    for one in report.evaluations:
        yield ", ".join(f"{name} {_write(value)}" for name, value in one.items())


def _call(report: Report) -> str:
    body = json.dumps(msgspec.to_builtins(report.repeat.body))
    return f"{report.repeat.method} {report.repeat.path} {body}"


def _as_page(report: Report) -> str:
    run = report.run
    facts = "".join(_row(f.label, _write(f.value), name=f.name) for f in report.facts)
    config = "".join(_row(k, _write(v)) for k, v in _settings(report))
    return PAGE.format(
        title=_safe(run["name"]),
        subtitle=_safe(f"{run['algorithm']} on {run['env_id']}, {run['status']}, run {run['id']}"),
        made=_safe(f"Report of {report.made_at}, version {report.version}"),
        error=f'<p class="loud">{_safe(run["error"])}</p>' if run["error"] else "",
        facts=facts,
        insights="".join(map(_insight_block, report.insights)) or "<p>Nothing was found.</p>",
        curves=_charts(report),
        evaluations=_evaluation_table(report),
        clip=_video(report),
        config=config,
        reward=_code_sections(report),
        command=_safe(report.repeat.command),
        call=_safe(_call(report)),
        notes=f"<h2>Notes</h2><p class='notes'>{_safe(run['notes'])}</p>" if run["notes"] else "",
    )


def _insight_block(one: Insight) -> str:
    first, last = one.evidence.window
    numbers = ", ".join(f"{k} {_write(v)}" for k, v in one.evidence.numbers.items())
    change = f"<p>Change: {_safe(_change(one.change))}</p>" if one.change is not None else ""
    loud = " loud" if one.severity.is_loud else ""
    return (
        f'<article class="insight{loud}" data-code="{_safe(one.code)}"><h3>{_safe(one.title)}</h3>'
        f"<p>{_safe(one.message)}</p><p class='small'>{_safe(one.severity.value)}, found at step "
        f"{one.at:,}. {_safe(one.evidence.metric)}, steps {first:,} to {last:,}: {_safe(numbers)}"
        f"</p><p>{_safe(one.suggestion)}</p>{change}</article>"
    )


def _charts(report: Report) -> str:
    drawn = []
    for name, points in report.curves.items():
        windows = [
            one.evidence.window
            for one in report.insights
            if one.severity.is_loud and one.evidence.metric == name
        ]
        drawn.append(chart(CURVES[name], points, windows=windows))
    return "".join(drawn) or "<p>Nothing was measured.</p>"


def _evaluation_table(report: Report) -> str:
    if not report.evaluations:
        return "<p>It was not evaluated.</p>"
    names = list(report.evaluations[0])
    head = "".join(f"<th>{_safe(name)}</th>" for name in names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_safe(_write(one.get(n)))}</td>" for n in names) + "</tr>"
        for one in report.evaluations
    )
    return f"<div class='wide'><table><tr>{head}</tr>{rows}</table></div>"


def _settings(report: Report) -> Iterable[tuple[str, Any]]:
    """Return the configuration value by value; code has a section of its own."""
    codes = {"reward_code": "reward.py", "env_code": "environment.py"}
    named = {name: file for name, file in codes.items() if report.config.get(name)}
    # A seed is a name, not an amount: it is there to be copied.
    return _flat({**report.config, **named, "seed": str(report.config.get("seed"))})


def _change(change: JsonObject) -> str:
    return ", ".join(f"{name} {_write(value)}" for name, value in _flat(change))


def _code_sections(report: Report) -> str:
    parts = []
    if code := report.config.get("reward_code"):
        parts.append(
            "<h2>Reward function</h2><p>It learned from this instead of the environment's own "
            f"reward.</p><pre>{_safe(code)}</pre>"
        )
    if code := report.config.get("env_code"):
        parts.append(f"<h2>Environment</h2><pre>{_safe(code)}</pre>")
    return "".join(parts)


def _video(report: Report) -> str:
    if report.clip is None:
        return ""
    content = base64.b64encode(report.clip.content).decode()
    return (
        f'<h2>Latest clip</h2><video controls muted src="data:video/mp4;base64,{content}"></video>'
    )


def _row(label: str, value: str, *, name: str = "") -> str:
    marked = f' data-name="{_safe(name)}"' if name else ""
    return f"<tr><th>{_safe(label)}</th><td{marked}>{_safe(value)}</td></tr>"


def _flat(config: JsonObject, prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, Mapping) and "points" not in value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _write(value: Any) -> str:  # noqa: ANN401 - any value of a report
    match value:
        case None:
            return "-"
        case bool():
            return "on" if value else "off"
        case int() | float():
            return f"{value:,}"
        case list() | tuple():
            return ", ".join(map(_write, value)) or "none"
        case Mapping():
            return json.dumps(msgspec.to_builtins(value))
        case _:
            return str(value)


def _safe(text: object) -> str:
    return escape(str(text))
