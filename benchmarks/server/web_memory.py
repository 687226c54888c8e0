"""Does the web process' memory grow with a run's metrics?

Its memory over a million lines of metrics, with one page open and one reader of the stream. A real
training would need an hour for so many lines; here a fake worker sends them through the real
pipe, supervisor, file, feed, stream and page.
"""

import threading
import time
from contextlib import suppress

import httpx
import psutil
from playwright.sync_api import sync_playwright

from benchmarks.lab import FLAGS, MeasuredLab, chromium_path, measured_lab, option, progress

LINES = option("LINES", 1_000_000)
_SHARES = (0.0, 0.25, 0.5, 1.0)


def run() -> None:
    """Print the memory of the web process after parts of the lines, and its growth."""
    path = chromium_path()
    with (
        measured_lab(program=("-m", "benchmarks.server.chatty_server"), RL_LAB_VIEWERS="1") as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page()
        page.goto(f"{lab.url}/train")
        page.get_by_role("button", name="Train", exact=True).wait_for()
        used = _follow(lab)
        browser.close()
    print("| lines | web process MB |")
    print("|---|---|")
    for share, megabytes in used.items():
        print(f"| {int(LINES * share):,} | {megabytes:.1f} |")
    print(f"\nlast / first quarter: {used[1.0] / used[0.25]:.3f}")


def _follow(lab: MeasuredLab) -> dict[float, float]:
    process = psutil.Process(lab.pid)
    used: dict[float, float] = {}
    run_id = lab.start(env_id="CartPole-v1", algorithm="PPO", total_timesteps=LINES)
    threading.Thread(target=_read, args=(lab, run_id), daemon=True).start()
    for share in _SHARES:
        while (lines := lab.get(run_id)["episodes"]) < LINES * share:
            progress(min(lines, LINES - 1), LINES, "lines")
            time.sleep(0.2)
        used[share] = process.memory_info().rss / (1 << 20)
    progress(LINES, LINES, "lines")
    lab.stop(run_id)
    return used


def _read(lab: MeasuredLab, run_id: str) -> None:
    address = f"{lab.url}/api/runs/{run_id}/stream?all=1&after=0"
    # The server may exit while it is still reading.
    with suppress(httpx.TransportError), httpx.stream("GET", address, timeout=None) as answer:
        for _ in answer.iter_lines():
            pass
