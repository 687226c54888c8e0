"""How long does it take to compare ten long runs, on the server and until a browser draws them?

The first request reads every metrics file once; users mostly notice later requests.
"""

import statistics
import time

from playwright.sync_api import sync_playwright

from benchmarks.interface.chart_cost import write_lines
from benchmarks.lab import FLAGS, MeasuredLab, chromium_path, measured_lab, option
from storage.database import runs
from storage.database.database import open_database
from storage.metrics.metrics import tail_lines
from storage.records.runs import Progress

RUNS = option("RUNS", 10)
POINTS = option("POINTS", 100_000)
ROUNDS = option("ROUNDS", 3)
_TIMEOUT_MS = 120_000


def run() -> None:
    """Print the durations of a comparison."""
    with measured_lab() as lab:
        ids = [_long_run(lab, seed) for seed in range(RUNS)]
        address = f"/compare?runs={','.join(ids)}"
        first, *later = [_ask(lab, address) for _ in range(ROUNDS + 1)]
        painted = [_paint(lab, address) for _ in range(ROUNDS)]
    print(f"{RUNS} runs x {POINTS:,} lines, medians of {ROUNDS}\n")
    print("| | first ms | later ms |\n|---|---|---|")
    print(f"| `GET /api/compare` | {first:.0f} | {statistics.median(later):.0f} |")
    print(f"| page until its curves are drawn | - | {statistics.median(painted):.0f} |")


def _long_run(lab: MeasuredLab, seed: int) -> str:
    request = {"env_id": "CartPole-v1", "algorithm": "PPO", "name": f"run {seed}", "seed": seed}
    run_id: str = lab.api.post("/runs", json=request).json()["id"]
    path = lab.folder / run_id / "metrics.jsonl"
    write_lines(path, 1, POINTS)
    database = open_database(lab.folder / "lab.db")
    last = {key: value for line in tail_lines(path, 20) for key, value in line.items()}
    runs.save_progress(run_id, Progress(timesteps=last["timesteps"]), last)
    database.close()
    return run_id


def _ask(lab: MeasuredLab, address: str) -> float:
    began = time.perf_counter()
    lab.api.get(address).raise_for_status()
    return 1e3 * (time.perf_counter() - began)


def _paint(lab: MeasuredLab, address: str) -> float:
    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        began = time.perf_counter()
        page.goto(lab.url + address)
        page.locator("canvas").first.wait_for(timeout=_TIMEOUT_MS)
        duration = 1e3 * (time.perf_counter() - began)
        browser.close()
    return duration
