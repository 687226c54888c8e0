"""How long until a page can be used, and how many bytes does that take?

Real Chromium. Cold is a browser that has never been here, warm one that comes again; Home and the
dashboard in turn. A page can be used when its line to the server stands and its button is there.
"""

import statistics
import time
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from benchmarks.lab import FLAGS, MeasuredLab, chromium_path, measured_lab, progress, wish

PAGES = {"/": "link", "/train": "button"}
"""Addresses, and what a person needs there before anything else: the way to train."""
ROUNDS = wish("ROUNDS", 5)
_TARGET_KB = 700
_USABLE = "() => window.did_handshake && document.readyState === 'complete'"


@dataclass(frozen=True, slots=True)
class Visit:
    """What opening a page took."""

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
    print(f"{ROUNDS} rounds in turn, medians; the target is {_TARGET_KB} kB, cold\n")
    print("| page | visit | usable after s | kB over the wire |")
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
    took = time.perf_counter() - began
    page.wait_for_load_state("networkidle")
    page.close()
    return Visit(took, sum(received) / 1_000)


def _size(event: dict[str, Any]) -> int:
    return len(event["response"]["payloadData"])
