"""How long until a page is usable, and how many bytes does it load?

Real Chromium. Cold is a first visit, warm a second one with a filled cache; Home and the dashboard
alternately. A page is usable when its WebSocket is connected and its button is present.
"""

import statistics
import time
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from benchmarks.lab import FLAGS, MeasuredLab, chromium_path, measured_lab, option, progress

PAGES = {"/": "link", "/train": "button"}
"""Addresses, and the role of the element to wait for: the one that leads to training."""
ROUNDS = option("ROUNDS", 5)
_TARGET_KB = 700
_USABLE = "() => window.did_handshake && document.readyState === 'complete'"


@dataclass(frozen=True, slots=True)
class Visit:
    """Duration and size of loading a page."""

    seconds: float
    kilobytes: float


def run() -> None:
    """Print the medians of each page, cold and warm."""
    path = chromium_path()
    found: dict[tuple[str, str], list[Visit]] = {}
    with measured_lab() as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for done in range(ROUNDS):
            progress(done, ROUNDS, "first page")
            for address in PAGES:
                for state, visit in _cold_and_warm(browser, lab, address).items():
                    found.setdefault((address, state), []).append(visit)
        progress(ROUNDS, ROUNDS, "first page")
        browser.close()
    print(f"{ROUNDS} alternating rounds, medians; the target is {_TARGET_KB} kB, cold\n")
    print("| page | visit | usable after s | kB transferred |")
    print("|---|---|---|---|")
    for (address, state), visits in found.items():
        seconds = statistics.median(visit.seconds for visit in visits)
        size = statistics.median(visit.kilobytes for visit in visits)
        print(f"| `{address}` | {state} | {seconds:.2f} | {size:,.0f} |")


def _cold_and_warm(browser: Browser, lab: MeasuredLab, address: str) -> dict[str, Visit]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    visits = {state: _open(context, lab, address) for state in ("cold", "warm")}
    context.close()
    return visits


def _open(context: BrowserContext, lab: MeasuredLab, address: str) -> Visit:
    page = context.new_page()
    received: list[float] = []
    line = context.new_cdp_session(page)
    line.send("Network.enable")
    line.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    line.on("Network.webSocketFrameReceived", lambda event: received.append(_size(event)))
    began = time.perf_counter()
    page.goto(f"{lab.url}{address}")
    page.get_by_role(PAGES[address], name="Train", exact=True).first.wait_for()  # type: ignore[arg-type]
    page.wait_for_function(_USABLE)
    duration = time.perf_counter() - began
    page.wait_for_load_state("networkidle")
    page.close()
    return Visit(duration, sum(received) / 1_000)


def _size(event: dict[str, Any]) -> int:
    return len(event["response"]["payloadData"])
