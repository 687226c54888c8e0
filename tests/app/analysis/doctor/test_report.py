"""Reports: three forms of the same numbers, nothing a person typed gets out of its place."""

import json
import re
import shlex
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

from app.cli.parsing import read_value
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

NASTY = '<script>alert("x")</script> {title} & <b>'


@pytest.fixture(scope="module")
def run(server: LabServer) -> dict[str, Any]:
    made = server.train(
        total_timesteps=8_192, seed=0, name=NASTY, hyperparameters={"net_arch": [32, 32]}
    )
    changed = server.api.patch(f"/runs/{made['id']}", json={"notes": NASTY})
    assert changed.status_code == 200
    return dict(changed.json())


def report(server: LabServer, run: dict[str, Any], form: str) -> str:
    answer = server.api.get(f"/runs/{run['id']}/report", params={"format": form})
    assert answer.status_code == 200, answer.text
    return answer.text


class Page(HTMLParser):
    """Collects tags, addresses and the numbers of a report's page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.numbers: dict[str, str] = {}
        self.codes: list[str] = []
        self._name: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.addresses += [given[name] or "" for name in ("src", "href") if name in given]
        self._name = given.get("data-name")
        if "data-code" in given:
            self.codes.append(given["data-code"] or "")

    def handle_data(self, data: str) -> None:
        if self._name is not None:
            self.numbers[self._name] = data
            self._name = None


def number(text: str) -> float | None:
    return None if text == "-" else float(text.replace(",", ""))


def test_the_numbers_of_all_three_forms_agree(server: LabServer, run: dict[str, Any]) -> None:
    told = json.loads(report(server, run, "json"))
    text = report(server, run, "text")
    page = Page(report(server, run, "html"))

    numbers = told["numbers"]
    assert numbers["timesteps"] == run["timesteps"] == 8_192
    assert numbers["mean_reward"] == pytest.approx(run["latest"]["mean_reward"], abs=1e-3)
    assert {name: number(value) for name, value in page.numbers.items()} == numbers
    for name, value in numbers.items():
        written = re.search(rf"^{name}: (.+)$", text, re.MULTILINE)
        assert written is not None, name
        assert number(written[1]) == value
    codes = [insight["code"] for insight in told["insights"]]
    assert page.codes == codes
    assert re.findall(r"^\[\w+\] .+ \((\w+), step", text, re.MULTILINE) == codes


def test_a_page_needs_nothing_else_and_runs_nothing(server: LabServer, run: dict[str, Any]) -> None:
    text = report(server, run, "html")
    page = Page(text)

    assert "script" not in page.tags
    assert "b" not in page.tags
    assert [one for one in page.addresses if not one.startswith("data:")] == []
    assert "@import" not in text
    assert "url(" not in text
    assert NASTY in unescape(text)
    assert "svg" in page.tags


def test_a_report_says_how_to_repeat_the_run(server: LabServer, run: dict[str, Any]) -> None:
    repeat = json.loads(report(server, run, "json"))["repeat"]

    again = server.api.post("/runs", json={**repeat["body"], "start": False}).json()
    words = shlex.split(repeat["command"])
    pairs = [words[i + 1].partition("=") for i, word in enumerate(words) if word == "--set"]

    assert {**again["config"]} == {**run["config"]}
    assert words[:4] == ["python", "main.py", "train", "CartPole-v1"]
    assert words[words.index("--seed") + 1] == "0"
    assert {name: read_value(value) for name, _, value in pairs} == run["config"]["hyperparameters"]


def test_an_evaluation_and_a_clip_join_the_report(server: LabServer, run: dict[str, Any]) -> None:
    folder = server.folder / run["id"] / "evaluations"
    folder.mkdir(exist_ok=True)
    found = {"id": "e1", "created_at": "2026-01-01T00:00:00Z", "episodes": 5, "mean_return": 123.5}
    (folder / "e1.json").write_text(json.dumps({**found, "custom": {"upright": 0.75}}))
    (folder / "e1.mp4").write_bytes(b"not really a film")

    told = json.loads(report(server, run, "json"))
    page = Page(report(server, run, "html"))

    assert told["evaluations"][-1]["mean_return"] == 123.5
    assert told["evaluations"][-1]["custom"] == {"upright": 0.75}
    assert "123.5" in report(server, run, "text")
    assert told["clip"] == {"evaluation": "e1"}
    assert page.addresses == ["data:video/mp4;base64,bm90IHJlYWxseSBhIGZpbG0="]
    for name in ("e1.json", "e1.mp4"):
        (folder / name).unlink()


def test_a_run_that_was_never_started_has_a_report(server: LabServer) -> None:
    made = server.create()

    told = json.loads(report(server, made, "json"))

    assert told["numbers"]["mean_reward"] is None
    assert told["curves"] == {}
    assert "mean_reward: -" in report(server, made, "text")
    assert "Nothing was measured." in report(server, made, "html")


def test_an_unknown_form_is_refused_by_name(server: LabServer, run: dict[str, Any]) -> None:
    answer = server.api.get(f"/runs/{run['id']}/report", params={"format": "pdf"})

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "format"
