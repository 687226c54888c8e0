"""What do the curves of a long run cost: opening, updating, zooming?

On the server the time to read curves from a metrics file (first the whole file, later only new
lines), and in real Chromium the time from the request until the chart is drawn.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from playwright.sync_api import Page, sync_playwright

from benchmarks.lab import FLAGS, MeasuredLab, chromium_path, measured_lab, option, progress
from components.run.curves import NAMES
from storage.metrics.curves import RunCurves
from storage.records.curves import View

SIZES = tuple(option("POINTS", size) for size in (1_000, 100_000, 1_000_000))
ROUNDS = option("ROUNDS", 20)
_UPDATE_EVERY = 10
_NEW = 50


def run() -> None:
    """Print both tables."""
    print("| lines | first read s | next read ms | 50 new lines ms | zoom to 1 % ms | points |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for size in sorted(set(SIZES)):
            path = Path(folder) / f"{size}.jsonl"
            write_lines(path, 1, size)
            print(f"| {size:,} | {_on_the_server(path, size)} |", flush=True)
    print("\n| lines | page opens ms | update in the browser ms | zoom in the browser ms |")
    print("|---|---|---|---|")
    with measured_lab(wait_until_settled=False) as lab:
        for size in sorted(set(SIZES)):
            print(f"| {size:,} | {_in_a_browser(lab, size)} |", flush=True)


def write_lines(path: Path, first: int, count: int) -> None:
    """Append lines like those of a PPO training: nine episodes, then an update."""
    chance = random.Random(first)
    with path.open("ab") as file:
        for n in range(first, first + count):
            file.write(msgspec.json.encode(_line(n, chance)) + b"\n")
            if n % 50_000 == 0:
                progress(n - first + 1, count, "write lines")


def _line(n: int, chance: random.Random) -> dict[str, object]:
    line: dict[str, object] = {
        "t": "2026-01-01T00:00:00.000Z",
        "timesteps": 100 * n,
        "vec_steps": 12 * n,
        "updates": n // _UPDATE_EVERY,
        "episode": n,
        "elapsed_s": n / 200,
        "fps": 20_000.0,
        "progress": 0.5,
        "n": n,
    }
    if n % _UPDATE_EVERY:
        reward = chance.gauss(200, 50)
        return {**line, "reward": reward, "episode_length": 100, "mean_reward": reward}
    names = ("loss", "policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")
    more = ("explained_variance", "learning_rate", "grad_norm", "collect_s", "learn_s")
    return {**line, **{name: chance.random() for name in (*names, *more)}}


def _on_the_server(path: Path, size: int) -> str:
    curves = RunCurves(path)
    whole = View(names=NAMES)
    first = _seconds(lambda: curves.read(whole))
    again = statistics.median(_seconds(lambda: curves.read(whole)) for _ in range(ROUNDS))
    durations = []
    for number in range(ROUNDS):
        write_lines(path, size + 1 + number * _NEW, _NEW)
        durations.append(_seconds(lambda: curves.read(whole)))
    middle = 50.0 * size
    close = View(names=NAMES, start=middle, end=middle * 1.02)
    zoom = statistics.median(_seconds(lambda: curves.read(close)) for _ in range(ROUNDS))
    max_points = max(len(curve.points[0]) for curve in curves.read(whole).by_name.values())
    cells = [
        f"{first:.2f}",
        *(f"{1e3 * s:.1f}" for s in (again, statistics.median(durations), zoom)),
    ]
    return " | ".join((*cells, f"{max_points:,}"))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _in_a_browser(lab: MeasuredLab, size: int) -> str:
    request = {"env_id": "CartPole-v1", "algorithm": "PPO", "name": f"{size} lines"}
    run_id = lab.api.post("/runs", json=request).json()["id"]
    write_lines(lab.folder / run_id / "metrics.jsonl", 1, size)
    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        address = f"{lab.url}/runs/{run_id}"
        # The first visit reads the file; users mostly notice later ones.
        _open(page, address)
        opened = [_open(page, address) for _ in range(3)]
        update = page.evaluate(_UPDATE_JS, ROUNDS)
        zoom = [_zoom(page) for _ in range(5)]
        browser.close()
    open_ms, zoom_ms = (1e3 * statistics.median(durations) for durations in (opened, zoom))
    return f"{open_ms:.0f} | {update:.1f} | {zoom_ms:.0f}"


def _open(page: Page, address: str) -> float:
    began = time.perf_counter()
    page.goto(address)
    # Charts outside the viewport aren't drawn.
    page.locator(".lab-curve").first.scroll_into_view_if_needed(timeout=120_000)
    page.locator(".lab-curve canvas").first.wait_for(timeout=120_000)
    return time.perf_counter() - began


# Append one value to the reward curve and redraw the chart.
_UPDATE_JS = """(rounds) => {
  const id = document.querySelector(".lab-curves-box").id.slice(1);
  const curves = getElement(id);
  const chart = curves.shown[0];
  const began = performance.now();
  for (let i = 0; i < rounds; i++) {
    curves.append({ reward: [[curves.extent[1] + 100], [200]] }, curves.extent[1] + 100);
    curves.plots.get(chart.title).setOption(curves.option(chart), true);
  }
  return (performance.now() - began) / rounds;
}"""


def _zoom(page: Page) -> float:
    page.evaluate("""() => {
      const curves = getElement(document.querySelector(".lab-curves-box").id.slice(1));
      const [from, to] = curves.range();
      window.answered = curves.question;
      curves.read(from + (to - from) * 0.3, from + (to - from) * 0.6);
    }""")
    began = time.perf_counter()
    page.wait_for_function("""() => {
      const curves = getElement(document.querySelector(".lab-curves-box").id.slice(1));
      return curves.question > window.answered && curves.extras.question === curves.question;
    }""")
    return time.perf_counter() - began
