"""Reports: three formats of the same numbers; text from users is escaped."""

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

MARKUP = '<script>alert("x")</script> {title} & <b>'


@pytest.fixture(scope="module")
def run(server: LabServer) -> dict[str, Any]:
    created = server.train(
        total_timesteps=8_192, seed=0, name=MARKUP, hyperparameters={"net_arch": [32, 32]}
    )
    changed = server.api.patch(f"/runs/{created['id']}", json={"notes": MARKUP})
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
        attributes = dict(attrs)
        self.tags.add(tag)
        self.addresses += [attributes[name] or "" for name in ("src", "href") if name in attributes]
        self._name = attributes.get("data-name")
        if "data-code" in attributes:
            self.codes.append(attributes["data-code"] or "")

    def handle_data(self, data: str) -> None:
        if self._name is not None:
            self.numbers[self._name] = data
            self._name = None


def number(text: str) -> float | None:
    return None if text == "-" else float(text.replace(",", ""))


def test_the_numbers_of_all_three_formats_agree(server: LabServer, run: dict[str, Any]) -> None:
    content = json.loads(report(server, run, "json"))
    text = report(server, run, "text")
    page = Page(report(server, run, "html"))

    numbers = content["numbers"]
    assert numbers["timesteps"] == run["timesteps"] == 8_192
    assert numbers["mean_reward"] == pytest.approx(run["latest"]["mean_reward"], abs=1e-3)
    assert {name: number(value) for name, value in page.numbers.items()} == numbers
    for name, value in numbers.items():
        written = re.search(rf"^{name}: (.+)$", text, re.MULTILINE)
        assert written is not None, name
        assert number(written[1]) == value
    codes = [insight["code"] for insight in content["insights"]]
    assert page.codes == codes
    assert re.findall(r"^\[\w+\] .+ \((\w+), step", text, re.MULTILINE) == codes


def test_the_page_is_self_contained_and_has_no_scripts(
    server: LabServer, run: dict[str, Any]
) -> None:
    text = report(server, run, "html")
    page = Page(text)

    assert "script" not in page.tags
    assert "b" not in page.tags
    assert [one for one in page.addresses if not one.startswith("data:")] == []
    assert "@import" not in text
    assert "url(" not in text
    assert MARKUP in unescape(text)
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


def test_a_report_includes_an_evaluation_and_its_video(
    server: LabServer, run: dict[str, Any]
) -> None:
    folder = server.folder / run["id"] / "evaluations"
    folder.mkdir(exist_ok=True)
    evaluation = {
        "id": "e1",
        "created_at": "2026-01-01T00:00:00Z",
        "episodes": 5,
        "mean_return": 123.5,
    }
    (folder / "e1.json").write_text(json.dumps({**evaluation, "custom": {"upright": 0.75}}))
    (folder / "e1.mp4").write_bytes(b"not really a film")

    content = json.loads(report(server, run, "json"))
    page = Page(report(server, run, "html"))

    assert content["evaluations"][-1]["mean_return"] == 123.5
    assert content["evaluations"][-1]["custom"] == {"upright": 0.75}
    assert "123.5" in report(server, run, "text")
    assert content["clip"] == {"evaluation": "e1"}
    assert page.addresses == ["data:video/mp4;base64,bm90IHJlYWxseSBhIGZpbG0="]
    for name in ("e1.json", "e1.mp4"):
        (folder / name).unlink()


def test_a_run_that_was_never_started_has_a_report(server: LabServer) -> None:
    created = server.create()

    content = json.loads(report(server, created, "json"))

    assert content["numbers"]["mean_reward"] is None
    assert content["curves"] == {}
    assert "mean_reward: -" in report(server, created, "text")
    assert "Nothing was measured." in report(server, created, "html")


def test_an_unknown_format_is_refused(server: LabServer, run: dict[str, Any]) -> None:
    answer = server.api.get(f"/runs/{run['id']}/report", params={"format": "pdf"})

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "format"
