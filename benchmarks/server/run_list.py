"""How fast does `GET /api/runs` respond with ten thousand runs?"""

import statistics
import time

from benchmarks.lab import MeasuredLab, measured_lab, option, progress

RUNS = option("RUNS", 10_000)
REQUESTS = option("REQUESTS", 300)
_QUERIES = ("", "?status=created&env_id=CartPole-v1", "?q=777", "?sort=name&limit=500")


def run() -> None:
    """Print requests per second, p50 and p99 of several queries."""
    print(f"{RUNS:,} runs, {REQUESTS} requests of each kind, sequentially\n")
    print("| request | per second | p50 ms | p99 ms |")
    print("|---|---|---|---|")
    with measured_lab(wait_until_settled=False) as lab:
        _fill(lab)
        for query in _QUERIES:
            durations = [_seconds(lab, f"/runs{query}") for _ in range(REQUESTS)]
            p50, p99 = (statistics.quantiles(durations, n=100)[n] * 1e3 for n in (49, 98))
            cells = f"{len(durations) / sum(durations):,.0f} | {p50:.1f} | {p99:.1f}"
            print(f"| `GET /api/runs{query}` | {cells} |", flush=True)


def _fill(lab: MeasuredLab) -> None:
    request = {"env_id": "CartPole-v1", "algorithm": "PPO"}
    for number in range(1, RUNS + 1):
        lab.api.post("/runs", json={**request, "name": f"run {number}"}).raise_for_status()
        if number % 100 == 0 or number == RUNS:
            progress(number, RUNS, "make runs")


def _seconds(lab: MeasuredLab, address: str) -> float:
    began = time.perf_counter()
    lab.api.get(address).raise_for_status()
    return time.perf_counter() - began
