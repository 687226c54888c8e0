"""A report's page shows the name and all texts of a run as plain text."""

from html.parser import HTMLParser
from typing import Any

import pytest

from app.analysis.insights.insight import Evidence, Insight, Severity
from app.analysis.report.content import Fact, Repeat, Report, Video
from app.analysis.report.forms import Form, write_report

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7 * 7 }}&lt;"
LINK = "javascript:alert(1)"


class Parsed(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def report(**changes: Any) -> Report:
    run = {"id": "a" * 32, **dict.fromkeys(("name", "env_id", "environment", "algorithm"), HOSTILE)}
    evidence = Evidence(metric="mean_reward", window=(1_000, 20_000), numbers={HOSTILE: 1.5})
    texts = {"code": HOSTILE, "title": HOSTILE, "message": HOSTILE, "suggestion": LINK}
    values: dict[str, Any] = {
        "made_at": "2026-01-01T00:00:00Z",
        "version": HOSTILE,
        "run": {**run, "status": "failed", "error": HOSTILE, "notes": f"{HOSTILE}\n{LINK}"},
        "facts": [Fact(name=HOSTILE, label=HOSTILE, value=12_345)],
        "insights": [
            Insight(**texts, severity=severity, evidence=evidence, change={HOSTILE: True}, at=5_000)
            for severity in (Severity.WARNING, Severity.INFO)
        ],
        "config": {"env_id": HOSTILE, HOSTILE: [HOSTILE], "seed": 7},
        "reward_code": HOSTILE,
        "env_code": LINK,
        "evaluations": [{"id": HOSTILE, HOSTILE: LINK}],
        "curves": {"mean_reward": [(0, 1.0), (1_000, 5.5), (30_000, -2.25)]},
        "repeat": Repeat(command=HOSTILE, method="POST", path="/api/runs", body={HOSTILE: LINK}),
        "video": Video(evaluation="e", content=bytes(range(256))),
    }
    return Report(**{**values, **changes})


def page(**changes: Any) -> Parsed:
    return Parsed(write_report(report(**changes), Form.HTML).decode())


def test_no_text_of_a_run_is_interpreted_as_html() -> None:
    parsed = page()

    assert not parsed.tags & {"script", "img", "a"}
    names = {name for name, _ in parsed.attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"href"}
    sources = [value for name, value in parsed.attributes if name == "src"]
    assert [source[:22] for source in sources if source] == ["data:video/mp4;base64,"]
    assert parsed.text.count(HOSTILE) >= 15


@pytest.mark.parametrize("text", [HOSTILE, LINK], ids=["markup", "link"])
def test_code_and_notes_are_shown_verbatim(text: str) -> None:
    run = {**report().run, "notes": text, "error": None}
    parsed = page(run=run, reward_code=text)

    assert f"Notes\n{text}\n" in parsed.text
    assert f"environment's reward.\n{text}\n" in parsed.text


def test_windows_of_warnings_are_marked_on_their_curve() -> None:
    svg = write_report(report(), Form.HTML).decode()

    assert svg.count('<rect class="window" x="82.9" y="12" width="359.7" height="144"/>') == 1
