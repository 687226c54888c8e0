"""How long from "Edit reward" until the editor accepts input: cold, warm, and opened again?

Cold is a browser with an empty cache, warm a new page with a filled cache, again the same page
once more. Time is measured until the first typed letter is on screen.
"""

import statistics
import time

from playwright.sync_api import Page, sync_playwright

from benchmarks.lab import FLAGS, chromium_path, measured_lab, option, progress

ROUNDS = option("ROUNDS", 5)
_SCREENS = {"Monaco, 1440 px": 1440, "CodeMirror, 390 px": 390}
_TIMEOUT_MS = 60_000


def run() -> None:
    """Print the medians for both editors."""
    path = chromium_path()
    duration: dict[str, dict[str, list[float]]] = {name: {} for name in _SCREENS}
    with measured_lab(wait_until_settled=False) as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for done in range(ROUNDS):
            for name, width in _SCREENS.items():
                progress(done, ROUNDS, "editor")
                context = browser.new_context(viewport={"width": width, "height": 900})
                for how in ("cold", "warm"):
                    page = context.new_page()
                    page.goto(f"{lab.url}/train")
                    duration[name].setdefault(how, []).append(_open(page, width))
                _close(page)
                duration[name].setdefault("again", []).append(_open(page, width))
                context.close()
        browser.close()
    progress(ROUNDS, ROUNDS, "editor")
    print("| editor | cold s | warm s | again s |")
    print("|---|---|---|---|")
    for name, times in duration.items():
        print(f"| {name} | {' | '.join(f'{statistics.median(s):.2f}' for s in times.values())} |")


def _open(page: Page, width: int) -> float:
    button = page.get_by_role("button", name="Edit reward")
    if width <= 700 and not button.is_visible():
        page.get_by_role("button", name="Setup", exact=True).click()
    button.wait_for()
    page.wait_for_timeout(500)
    began = time.perf_counter()
    button.click()
    page.locator(".lab-code-place[aria-busy=false]").wait_for(timeout=_TIMEOUT_MS)
    page.locator(".view-lines, .cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("z")
    page.locator(".lab-code-place", has_text='z"""').wait_for(timeout=_TIMEOUT_MS)
    return time.perf_counter() - began


def _close(page: Page) -> None:
    page.get_by_role("button", name="Close", exact=True).click()
    page.locator(".lab-reward").wait_for(state="hidden")
