"""How long from Train to the first frame on screen? BENCH_BEFORE is a version to compare with."""

import statistics
import time

from playwright.sync_api import Browser, sync_playwright

from benchmarks.lab import FLAGS, MeasuredLab, chromium_path, labs_to_compare, progress

ROUNDS = 5
_SETTLED_S = 12
"""Older versions prepare their next worker meanwhile."""


def run() -> None:
    """Print the time of each round and the medians."""
    path = chromium_path()
    with labs_to_compare() as labs, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        times: dict[str, list[float]] = {name: [] for name in labs}
        for done in range(ROUNDS):
            progress(done, ROUNDS, "first frame")
            for name, lab in labs.items():
                times[name].append(_seconds_to_frame(browser, lab))
        progress(ROUNDS, ROUNDS, "first frame")
        browser.close()
    print("| version | Train to first frame, median s | all |")
    print("|---|---|---|")
    for name, values in times.items():
        every = ", ".join(f"{value:.2f}" for value in values)
        print(f"| {name} | {statistics.median(values):.2f} | {every} |")


def _seconds_to_frame(browser: Browser, lab: MeasuredLab) -> float:
    page = browser.new_page()
    page.goto(f"{lab.url}/train")
    page.get_by_role("button", name="Train", exact=True).wait_for()
    page.get_by_role("button", name="Reset").click()
    time.sleep(_SETTLED_S)
    began = time.perf_counter()
    page.get_by_role("button", name="Train", exact=True).click()
    page.locator(".lab-stage-badge", has_text="training").wait_for(timeout=60_000)
    duration = time.perf_counter() - began
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_label("Live feed").get_by_text("stopped", exact=True).wait_for(timeout=60_000)
    page.close()
    return duration
