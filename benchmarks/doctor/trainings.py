"""The metrics of trained cases on disk, so that changed rules are judged without training again."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from app.analysis.doctor.rules import examine
from app.analysis.insights import History, Insight, Situation
from app.run_config import RunConfig
from benchmarks.doctor.cases import Case
from benchmarks.lab import MeasuredLab, measured_lab, option, progress
from storage.records import RunStatus

FOLDER = Path(os.environ.get("BENCH_TRAINED", Path(__file__).parent / "trained"))
"""One file per case, not in git."""

Chosen = list[tuple[str, Case]]
"""Cases with the names of their sets."""


@dataclass(frozen=True, slots=True)
class Training:
    """What a trained case left."""

    runs: list[dict[str, Any]]
    """As the API describes them; more than one in a seed group."""
    lines: list[dict[str, Any]]
    """The metrics of the last run."""

    @property
    def score(self) -> float | None:
        """The mean of the last 100 episodes."""
        return _score(self.runs[-1])

    def insights(self) -> list[Insight]:
        """Return what the doctor finds at the end of the last run, with the rules as they are."""
        last, history = self.runs[-1], History()
        history.add(self.lines)
        scores = [_score(run) for run in self.runs if run["progress"] >= 0.5]
        situation = Situation(
            RunConfig.model_validate(last["config"]),
            history,
            status=RunStatus(last["status"]),
            error=last["error"],
            seeds=tuple(one for one in scores if one is not None) if len(self.runs) > 1 else (),
        )
        return examine(situation) if self.lines else []


def stored_training(name: str, case: Case) -> Training | None:
    """Return the training of a case; None if it was never trained as it is defined now."""
    try:
        content = json.loads(_file(name, case).read_text())
    except FileNotFoundError:
        return None
    is_current = content["request"] == case.request
    return Training(content["runs"], content["lines"]) if is_current else None


def train_missing(chosen: Chosen) -> None:
    """Train the cases that have no current training; what is finished stays if this ends early."""
    missing = [(name, case) for name, case in chosen if stored_training(name, case) is None]
    if not missing:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    workers = str(option("WORKERS", 2))
    # Without clips: they would cost as much as training.
    settings = {"RL_LAB_WORKERS": workers, "RL_LAB_CLIPS": "0"}
    with measured_lab(wait_until_settled=False, **settings) as lab:
        started = [(name, case, _start(lab, case)) for name, case in missing]
        for number, (name, case, run_ids) in enumerate(started, start=1):
            runs = [lab.wait(run_id) for run_id in run_ids]
            content = {"request": case.request, "runs": runs, "lines": list(_lines(lab, runs[-1]))}
            _file(name, case).write_text(json.dumps(content))
            progress(number, len(started), case.name)


def _start(lab: MeasuredLab, case: Case) -> list[str]:
    if "seeds" not in case.request:
        return [lab.start(**case.request)]
    request = {name: value for name, value in case.request.items() if name != "seed"}
    answer = lab.api.post("/runs", json={**request, "start": True})
    answer.raise_for_status()
    return [run["id"] for run in answer.json()["runs"]]


def _lines(lab: MeasuredLab, run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    answer = lab.api.get(f"/runs/{run['id']}/artifacts/metrics.jsonl").raise_for_status()
    for line in answer.content.splitlines():
        yield msgspec.json.decode(line)


def _score(run: dict[str, Any]) -> float | None:
    score: float | None = (run["latest"] or {}).get("mean_reward")
    return score


def _file(name: str, case: Case) -> Path:
    title = f"{name}-{case.name}-{case.request['algorithm']}".replace(" ", "_").replace(",", "")
    return FOLDER / f"{title}.json"
