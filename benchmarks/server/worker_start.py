"""What do workers cost? BENCH_BEFORE is a checkout of a version to compare with.

Over the API, without a browser: memory of the lab while idle and with eight runs, and the duration
of short jobs that users wait for. Memory is the proportional set size of the server and all its
descendant processes, so that shared memory is counted once.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import psutil
from websockets.sync.client import connect

from benchmarks.lab import MeasuredLab, labs_to_compare, option, progress

ROUNDS = option("ROUNDS", 5)
RUNS = 8
_BETWEEN_S = 8.0
"""Older versions prepare their next worker meanwhile."""
_SMALL: dict[str, Any] = {"env_id": "CartPole-v1", "algorithm": "PPO"}


def run() -> None:
    """Print each measurement of both versions, and their ratio."""
    with labs_to_compare(RL_LAB_WORKERS=str(RUNS), RL_LAB_CLIPS="1") as labs:
        figures = {name: {"idle memory, MB": [_megabytes(lab)]} for name, lab in labs.items()}
        trained = {name: _trained(lab) for name, lab in labs.items()}
        for done in range(ROUNDS):
            progress(done, ROUNDS, "jobs")
            for what, job in _JOBS.items():
                for name, lab in labs.items():
                    time.sleep(_BETWEEN_S)
                    figures[name].setdefault(what, []).append(job(lab, trained[name]))
        for name, lab in labs.items():
            figures[name][f"memory with {RUNS} runs, MB"] = [_with_many_runs(lab)]
        progress(ROUNDS, ROUNDS, "jobs")
    _print(figures)


def _print(figures: dict[str, dict[str, list[float]]]) -> None:
    medians = {
        name: {what: statistics.median(values) for what, values in found.items()}
        for name, found in figures.items()
    }
    print("| | " + " | ".join(medians) + " | now / before |")
    print("|---|" + "---|" * (len(medians) + 1))
    for what, now in medians["now"].items():
        before = medians.get("before", {}).get(what)
        ratio = "-" if before is None else f"{now / before:.2f}"
        cells = " | ".join(f"{found[what]:,.2f}" for found in medians.values())
        print(f"| {what} | {cells} | {ratio} |")


def _trained(lab: MeasuredLab) -> str:
    # The same policy in both versions: an evaluation takes as long as its episode.
    run_id = lab.start(**_SMALL, total_timesteps=20_000, seed=1)
    lab.wait(run_id)
    return run_id


def _first_frame(lab: MeasuredLab, _: str) -> float:
    began = time.perf_counter()
    run_id = lab.start(**_SMALL, total_timesteps=50_000_000)
    with connect(f"{lab.url.replace('http', 'ws')}/api/runs/{run_id}/frames") as line:
        line.recv(timeout=60)
    duration = time.perf_counter() - began
    lab.stop(run_id)
    return duration


def _preview(lab: MeasuredLab, _: str) -> float:
    began = time.perf_counter()
    made = lab.api.post("/previews", json={"env_id": "CartPole-v1", "seed": 1, "mode": "step"})
    made.raise_for_status()
    address = f"/previews/{made.json()['id']}"
    lab.api.post(f"{address}/step", json={"action": 0}).raise_for_status()
    duration = time.perf_counter() - began
    lab.api.delete(address)
    return duration


def _evaluation(lab: MeasuredLab, run_id: str) -> float:
    began = time.perf_counter()
    path = f"/runs/{run_id}/evaluations"
    response = lab.api.post(path, json={"episodes": 1, "record": True})
    response.raise_for_status()
    while lab.api.get(f"{path}/{response.json()['id']}").json()["status"] != "completed":
        time.sleep(0.02)
    return time.perf_counter() - began


def _clip(lab: MeasuredLab, _: str) -> float:
    run_id = lab.start(**_SMALL, total_timesteps=2_000)
    lab.wait(run_id)
    began = time.perf_counter()
    while not lab.api.get(f"/runs/{run_id}/clips").json()["items"]:
        time.sleep(0.02)
    return time.perf_counter() - began


_JOBS: dict[str, Callable[[MeasuredLab, str], float]] = {
    "start to first frame, s": _first_frame,
    "preview to first step, s": _preview,
    "evaluation of one episode with video, s": _evaluation,
    "clip after the end of a run, s": _clip,
}


def _with_many_runs(lab: MeasuredLab) -> float:
    run_ids = [lab.start(**_SMALL, total_timesteps=50_000_000) for _ in range(RUNS)]
    while any(lab.get(run_id)["timesteps"] < 2_000 for run_id in run_ids):
        time.sleep(0.5)
    used = _megabytes(lab)
    for run_id in run_ids:
        lab.stop(run_id)
    return used


def _megabytes(lab: MeasuredLab) -> float:
    server = psutil.Process(lab.pid)
    processes = [server, *server.children(recursive=True)]
    return sum(process.memory_full_info().pss for process in processes) / (1 << 20)
