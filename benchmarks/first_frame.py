"""How long from TRAIN to the first picture on screen? With warm workers and without, in turn."""

import shutil
import statistics
import time

from playwright.sync_api import Browser, sync_playwright

from benchmarks.lab import FLAGS, MeasuredLab, measured_lab, progress

ROUNDS = 5


def run() -> None:
    """Print the time for each round and the medians."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with (
        measured_lab() as warm,
        measured_lab(RL_LAB_WARM_WORKERS="0") as cold,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        times: dict[str, list[float]] = {"warm": [], "cold": []}
        for done in range(ROUNDS):
            progress(done, ROUNDS, "first frame")
            times["warm"].append(_seconds_to_picture(browser, warm))
            times["cold"].append(_seconds_to_picture(browser, cold))
        progress(ROUNDS, ROUNDS, "first frame")
        browser.close()
    medians = {name: statistics.median(values) for name, values in times.items()}
    print("| workers | TRAIN to first picture, median s | all |")
    print("|---|---|---|")
    for name, values in times.items():
        print(f"| {name} | {medians[name]:.2f} | {', '.join(f'{value:.2f}' for value in values)} |")
    print(f"\nwarm / cold: {medians['warm'] / medians['cold']:.2f}")


def _seconds_to_picture(browser: Browser, lab: MeasuredLab) -> float:
    page = browser.new_page()
    page.goto(f"{lab.url}/train")
    page.get_by_role("button", name="Train", exact=True).wait_for()
    page.get_by_role("button", name="Reset").click()
    time.sleep(12)  # until the pool is full again
    began = time.perf_counter()
    page.get_by_role("button", name="Train", exact=True).click()
    page.locator(".lab-stage-badge", has_text="training").wait_for(timeout=60_000)
    took = time.perf_counter() - began
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_label("Live feed").get_by_text("stopped", exact=True).wait_for(timeout=60_000)
    page.close()
    return took
