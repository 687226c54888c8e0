"""How quickly does `GET /api/runs` answer with ten thousand runs?"""

import statistics
import time

from benchmarks.lab import MeasuredLab, measured_lab, progress, wish

RUNS = wish("RUNS", 10_000)
REQUESTS = wish("REQUESTS", 300)
_ASKED = ("", "?status=created&env_id=CartPole-v1", "?q=777", "?sort=name&limit=500")


def run() -> None:
    """Print requests per second, p50 and p99 of a few kinds of lists."""
    print(f"{RUNS:,} runs, {REQUESTS} requests of each kind, one after the other\n")
    print("| request | per second | p50 ms | p99 ms |")
    print("|---|---|---|---|")
    with measured_lab(wait_until_settled=False) as lab:
        _fill(lab)
        for asked in _ASKED:
            took = [_seconds(lab, f"/runs{asked}") for _ in range(REQUESTS)]
            p50, p99 = (statistics.quantiles(took, n=100)[n] * 1e3 for n in (49, 98))
            cells = f"{len(took) / sum(took):,.0f} | {p50:.1f} | {p99:.1f}"
            print(f"| `GET /api/runs{asked}` | {cells} |", flush=True)


def _fill(lab: MeasuredLab) -> None:
    wishes = {"env_id": "CartPole-v1", "algorithm": "PPO"}
    for number in range(1, RUNS + 1):
        lab.api.post("/runs", json={**wishes, "name": f"run {number}"}).raise_for_status()
        if number % 100 == 0 or number == RUNS:
            progress(number, RUNS, "make runs")


def _seconds(lab: MeasuredLab, address: str) -> float:
    began = time.perf_counter()
    lab.api.get(address).raise_for_status()
    return time.perf_counter() - began
