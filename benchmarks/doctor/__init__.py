"""How well does the doctor diagnose? Trainings with a known problem, in a running lab.

`BENCH_CASES=text` runs only cases whose name or set contains the text; `BENCH_KEEP=folder` stores
runs, insights and metrics, one JSON file per case.
"""

import json
import os
from pathlib import Path
from typing import Any

from benchmarks.doctor.cases import FIRST_TRY, SECOND_TRY, THIRD_TRY, TUNED, Case
from benchmarks.doctor.scoring import Result, score
from benchmarks.lab import MeasuredLab, measured_lab, progress

_WARNINGS = ("warning", "error")
_SETS = {
    "tuned": TUNED,
    "first try": FIRST_TRY,
    "second try": SECOND_TRY,
    "third try": THIRD_TRY,
}


def run() -> None:
    """Train every case, and print the warnings, recall and precision."""
    text = os.environ.get("BENCH_CASES", "")
    chosen = [
        (name, case)
        for name, cases in _SETS.items()
        for case in cases
        if text in f"{name}: {case.name}"
    ]
    with measured_lab(wait_until_settled=False, RL_LAB_WORKERS="2") as lab:
        started = [(name, case, _start(lab, case)) for name, case in chosen]
        results: dict[str, list[Result]] = {name: [] for name in _SETS}
        for number, (name, case, run_ids) in enumerate(started, start=1):
            results[name].append(_finish(lab, name, case, run_ids))
            progress(number, len(started), case.name)
    for name, found in results.items():
        _print(name, found)


def _start(lab: MeasuredLab, case: Case) -> list[str]:
    if "seeds" not in case.request:
        return [lab.start(**case.request)]
    request = {name: value for name, value in case.request.items() if name != "seed"}
    answer = lab.api.post("/runs", json={**request, "start": True})
    answer.raise_for_status()
    return [run["id"] for run in answer.json()["runs"]]


def _finish(lab: MeasuredLab, name: str, case: Case, run_ids: list[str]) -> Result:
    """Wait for a case; of a seed group use the last run's insights, which cover the whole group."""
    runs = [lab.wait(run_id) for run_id in run_ids]
    insights = lab.api.get(f"/runs/{run_ids[-1]}/insights").json()["items"]
    _store(lab, name, case, runs, insights)
    latest: dict[str, Any] = runs[-1]["latest"] or {}
    warned = tuple(one["code"] for one in insights if one["severity"] in _WARNINGS)
    return Result(case, latest.get("mean_reward"), warned)


def _store(
    lab: MeasuredLab, name: str, case: Case, runs: list[dict[str, Any]], insights: list[Any]
) -> None:
    if not (folder := os.environ.get("BENCH_KEEP")):
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    lines = lab.api.get(f"/runs/{runs[-1]['id']}/metrics").json()["items"]
    content = {"set": name, "case": case.name, "runs": runs, "insights": insights, "lines": lines}
    file = f"{name}-{case.name}-{case.request['algorithm']}".replace(" ", "_").replace(",", "")
    (Path(folder) / f"{file}.json").write_text(json.dumps(content))


def _print(name: str, results: list[Result]) -> None:
    if not results:
        return
    print(f"\n### {name}\n")
    print("| case | trained | score | warnings | result |")
    print("|---|---|---|---|---|")
    for result in results:
        request = result.case.request
        trained = (
            f"{request['algorithm']} {request['env_id']} {request['total_timesteps'] // 1000}k"
        )
        mean = "-" if result.score is None else f"{result.score:,.1f}"
        warnings = ", ".join(result.warned) or "none"
        print(f"| {result.case.name} | {trained} | {mean} | {warnings} | {_outcome(result)} |")
    total = score(results)
    print(
        f"\nrecall {total.recall:.2f} ({total.found} of {total.broken} causes), precision "
        f"{total.precision:.2f} ({total.warnings - total.wrong} of {total.warnings} warnings), "
        f"{total.healthy_warned} of {total.healthy} healthy runs warned"
    )


def _outcome(result: Result) -> str:
    if result.wrong:
        return f"wrong: {', '.join(result.wrong)}"
    if result.case.is_healthy:
        return "healthy"
    return "found" if result.is_found else "missed"
