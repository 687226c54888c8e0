"""Does the doctor find what is wrong? Trainings with a known cause, judged by the running lab.

`BENCH_CASES=text` runs only cases whose name or set has the text; `BENCH_KEEP=folder` keeps what
was measured, one JSON file per case.
"""

import json
import os
from pathlib import Path
from typing import Any

from benchmarks.doctor.cases import FIRST_TRY, SECOND_TRY, THIRD_TRY, TUNED, Case
from benchmarks.doctor.scoring import Result, score
from benchmarks.lab import MeasuredLab, measured_lab, progress

_LOUD = ("warning", "error")
_SETS = {
    "tuned": TUNED,
    "first try": FIRST_TRY,
    "second try": SECOND_TRY,
    "third try": THIRD_TRY,
}


def run() -> None:
    """Train every case and print what was found, and how much of it was right."""
    wanted = os.environ.get("BENCH_CASES", "")
    chosen = [
        (name, case)
        for name, cases in _SETS.items()
        for case in cases
        if wanted in f"{name}: {case.name}"
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
    if "seeds" not in case.wish:
        return [lab.start(**case.wish)]
    wish = {name: value for name, value in case.wish.items() if name != "seed"}
    answer = lab.api.post("/runs", json={**wish, "start": True})
    answer.raise_for_status()
    return [run["id"] for run in answer.json()["runs"]]


def _finish(lab: MeasuredLab, name: str, case: Case, run_ids: list[str]) -> Result:
    """Wait for a case; of a group the last run is asked, which knows all others."""
    runs = [lab.wait(run_id) for run_id in run_ids]
    insights = lab.api.get(f"/runs/{run_ids[-1]}/insights").json()["items"]
    _keep(lab, name, case, runs, insights)
    latest: dict[str, Any] = runs[-1]["latest"] or {}
    warned = tuple(one["code"] for one in insights if one["severity"] in _LOUD)
    return Result(case, latest.get("mean_reward"), warned)


def _keep(
    lab: MeasuredLab, name: str, case: Case, runs: list[dict[str, Any]], insights: list[Any]
) -> None:
    if not (folder := os.environ.get("BENCH_KEEP")):
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    lines = lab.api.get(f"/runs/{runs[-1]['id']}/metrics").json()["items"]
    kept = {"set": name, "case": case.name, "runs": runs, "insights": insights, "lines": lines}
    file = f"{name}-{case.name}-{case.wish['algorithm']}".replace(" ", "_").replace(",", "")
    (Path(folder) / f"{file}.json").write_text(json.dumps(kept))


def _print(name: str, results: list[Result]) -> None:
    if not results:
        return
    print(f"\n### {name}\n")
    print("| case | trained | score | warnings | verdict |")
    print("|---|---|---|---|---|")
    for result in results:
        wish = result.case.wish
        trained = f"{wish['algorithm']} {wish['env_id']} {wish['total_timesteps'] // 1000}k"
        mean = "-" if result.score is None else f"{result.score:,.1f}"
        said = ", ".join(result.warned) or "none"
        print(f"| {result.case.name} | {trained} | {mean} | {said} | {_verdict(result)} |")
    total = score(results)
    print(
        f"\nrecall {total.recall:.2f} ({total.found} of {total.broken} causes), precision "
        f"{total.precision:.2f} ({total.warnings - total.wrong} of {total.warnings} warnings), "
        f"{total.healthy_warned} of {total.healthy} healthy runs warned"
    )


def _verdict(result: Result) -> str:
    if result.wrong:
        return f"wrong: {', '.join(result.wrong)}"
    if result.case.is_healthy:
        return "healthy"
    return "found" if result.is_found else "missed"
