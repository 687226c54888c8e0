"""What frame rate do real browsers reach, and what do they cost the web process?

One, then five Chromium windows with the dashboard of a running training. Measured are the displayed
frames per second, the delay between a frame's arrival at a client without display and its display,
and the web process' CPU usage.
"""

import contextlib
import json
import statistics
import threading
import time
from collections.abc import Iterator

import psutil
from playwright.sync_api import Browser, Page, sync_playwright
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from benchmarks.lab import FLAGS, MeasuredLab, chromium_path, measured_lab, option, progress

BROWSERS = (0, 1, 5)
SECONDS = option("SECONDS", 20)
_SETTLE_S = 5
# Record when each frame is first on the canvas, checked at each screen refresh.
_NOTE_JS = """() => {
  const stage = getElement(document.querySelector(".lab-stage").id.slice(1));
  window.drawn = {};
  const look = () => {
    const seq = stage.header?.seq;
    if (seq && !(seq in window.drawn)) window.drawn[seq] = Date.now();
    requestAnimationFrame(look);
  };
  look();
}"""


def run() -> None:
    """Print frame rate, delay and CPU usage for zero, one and five browsers."""
    path = chromium_path()
    print(f"PPO on LunarLander-v3, {SECONDS} s each\n")
    print("| browsers | frames/s each | delay p50 ms | delay p99 ms | web process, % of a core |")
    print("|---|---|---|---|---|")
    with measured_lab() as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        run_id = lab.start(env_id="LunarLander-v3", algorithm="PPO", total_timesteps=50_000_000)
        for number, browsers in enumerate(BROWSERS):
            progress(number, len(BROWSERS), f"{browsers} browsers")
            print(_row(lab, run_id, browser, browsers), flush=True)
        progress(len(BROWSERS), len(BROWSERS), "browsers")
        browser.close()
        lab.stop(run_id)


def _row(lab: MeasuredLab, run_id: str, browser: Browser, browsers: int) -> str:
    pages = [_open(browser, f"{lab.url}/runs/{run_id}") for _ in range(browsers)]
    time.sleep(_SETTLE_S)
    web = psutil.Process(lab.pid)
    with _arrivals(lab, run_id) if browsers else contextlib.nullcontext({}) as arrived:
        web.cpu_percent()
        time.sleep(SECONDS)
        used = web.cpu_percent()
        drawn = [_drawn(page) for page in pages]
    for page in pages:
        page.context.close()
    if not drawn:
        return f"| 0 | - | - | - | {used:.0f} |"
    rate = statistics.mean(len(seen) for seen in drawn) / (SECONDS + _SETTLE_S)
    delays = sorted(
        at - arrived[seq] for seen in drawn for seq, at in seen.items() if seq in arrived
    )
    p50, p99 = (delays[int(share * (len(delays) - 1))] for share in (0.5, 0.99))
    return f"| {browsers} | {rate:.1f} | {p50:.0f} | {p99:.0f} | {used:.0f} |"


def _open(browser: Browser, address: str) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(address)
    page.locator(".lab-stage canvas").wait_for(timeout=60_000)
    page.evaluate(_NOTE_JS)
    return page


def _drawn(page: Page) -> dict[int, float]:
    """Return when each frame was displayed, in milliseconds."""
    return {int(seq): float(at) for seq, at in page.evaluate("() => window.drawn").items()}


@contextlib.contextmanager
def _arrivals(lab: MeasuredLab, run_id: str) -> Iterator[dict[int, float]]:
    """Record when each frame arrives at a client without display."""
    arrived: dict[int, float] = {}
    ended = threading.Event()
    address = f"{lab.url.replace('http', 'ws')}/api/runs/{run_id}/frames"

    def listen() -> None:
        with contextlib.suppress(WebSocketException, OSError), connect(address) as line:
            while not ended.is_set():
                with contextlib.suppress(TimeoutError):
                    message = line.recv(timeout=0.5)
                    now = time.time() * 1_000
                    assert isinstance(message, bytes)
                    length = int.from_bytes(message[:4], "big")
                    arrived[json.loads(message[4 : 4 + length])["seq"]] = now
                    line.send("ack")

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield arrived
    ended.set()
    thread.join()
