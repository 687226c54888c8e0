"""How fast are pages of ten thousand past runs, in the database and in Chromium?

Half of the runs belong to seed groups. The page is usable when an arrow key moves to its first row.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from peewee import Database
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.lab import FLAGS, MeasuredLab, chromium_path, measured_lab, option, progress
from storage.database.database import open_database
from storage.database.history import facets, history_page
from storage.database.tables.runs import RunRow
from storage.records.runs import RunFilter

RUNS = option("RUNS", 10_000)
ROUNDS = option("ROUNDS", 5)
_AT_ONCE = 200
_SEEDS = 5
_VIEWS: dict[str, dict[str, Any]] = {
    "newest first": {},
    "best first": {"sort": "-score"},
    "by name, page 100": {"sort": "name", "number": 100},
    "one environment": {"wanted": RunFilter(env_id="CartPole-v1")},
    "words": {"wanted": RunFilter(text="777")},
    "a tag": {"wanted": RunFilter(tag="paper")},
}


def run() -> None:
    """Print the durations in the database, on the server and in the browser."""
    path = chromium_path()
    with measured_lab() as lab, sync_playwright() as playwright:
        database = open_database(lab.folder / "lab.db")
        _fill(lab, database)
        print(
            f"{RUNS:,} runs, medians of {ROUNDS}\n\n| page | queries | database ms |\n|---|---|---|"
        )
        for name, view in _VIEWS.items():
            print(f"| {name} | {_queries(database, view)} | {_database_ms(view):.1f} |", flush=True)
        database.close()
        print(f"\n`GET /runs`, the whole page: {_median(lambda: lab_page(lab)):.0f} ms\n")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        print("| in Chromium | ms |\n|---|---|")
        for name, times in _in_browser(browser, lab).items():
            print(f"| {name} | {statistics.median(times) * 1e3:,.0f} |", flush=True)
        browser.close()


def lab_page(lab: MeasuredLab) -> None:
    """Request the page like a browser."""
    lab.api.get(f"{lab.url}/runs").raise_for_status()


def _fill(lab: MeasuredLab, database: Database) -> None:
    pattern = lab.api.post("/runs", json={"env_id": "CartPole-v1", "algorithm": "PPO"}).json()
    latest = {f"metric_{number}": random.random() for number in range(60)} | {"mean_reward": 1.0}
    now = datetime.now(UTC)

    def row(number: int) -> dict[str, Any]:
        in_group = number % (2 * _SEEDS) < _SEEDS
        score = random.gauss(200, 60)
        shape = [[step * 1_000, score * step / 36 + random.gauss(0, 9)] for step in range(36)]
        return {
            "id": uuid4().hex,
            "name": f"run {number}",
            "env_id": random.choice(("CartPole-v1", "Acrobot-v1", "LunarLander-v3")),
            "algorithm": random.choice(("PPO", "DQN", "A2C")),
            "status": "completed",
            "config_json": pattern["config"],
            "created_at": now - timedelta(seconds=number),
            "updated_at": now,
            "group_id": f"group{number // _SEEDS}" if in_group else None,
            "tags_json": random.choice(([], ["baseline"], ["paper", "sweep"])),
            "timesteps": 100_000,
            "elapsed_s": random.uniform(10, 900),
            "score": score,
            "latest_json": latest | {"mean_reward": score},
            "sketch_json": {"every": 8, "points": shape},
        }

    for first in range(0, RUNS, _AT_ONCE):
        with database.atomic():
            RunRow.insert_many([row(number) for number in range(first, first + _AT_ONCE)]).execute()
        progress(min(first + _AT_ONCE, RUNS), RUNS, "make runs")


def _queries(database: Database, view: dict[str, Any]) -> int:
    with _recorded_statements(database) as statements:
        _query_page(view)
    return len(statements)


@contextmanager
def _recorded_statements(database: Database) -> Iterator[list[str]]:
    statements: list[str] = []
    original: Callable[..., Any] = database.execute_sql
    database.execute_sql = lambda sql, *more: (statements.append(sql), original(sql, *more))[1]
    yield statements
    database.execute_sql = original


def _database_ms(view: dict[str, Any]) -> float:
    return _median(lambda: _query_page(view))


def _query_page(view: dict[str, Any]) -> None:
    history_page(
        view.get("wanted", RunFilter()), **{k: v for k, v in view.items() if k != "wanted"}
    )
    facets(RunFilter(archived=None))


def _median(do: Callable[[], None]) -> float:
    return statistics.median(_seconds(do) for _ in range(ROUNDS)) * 1e3


def _seconds(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def _in_browser(browser: Browser, lab: MeasuredLab) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for done in range(ROUNDS):
        progress(done, ROUNDS, "open pages")
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        for name, step in _STEPS.items():
            found.setdefault(name, []).append(_seconds(partial(step, page, lab)))
        context.close()
    progress(ROUNDS, ROUNDS, "open pages")
    return found


def _open(page: Page, lab: MeasuredLab) -> None:
    page.goto(f"{lab.url}/runs")
    page.locator("tbody tr").first.wait_for()
    page.wait_for_function("window.did_handshake")
    page.keyboard.press("ArrowDown")
    page.locator("tbody tr:focus").wait_for()


def _next(page: Page, _: MeasuredLab) -> None:
    page.get_by_role("button", name="Next").click()
    page.get_by_text("51 to 100 of").wait_for()


def _sort(page: Page, _: MeasuredLab) -> None:
    page.get_by_role("button", name="Score").click()
    page.locator("th[aria-sort=descending]").get_by_text("Score").wait_for()


def _search(page: Page, _: MeasuredLab) -> None:
    page.get_by_label("Search runs").fill("run 9999")
    page.get_by_text("1 run", exact=True).wait_for()


_STEPS: dict[str, Callable[[Page, MeasuredLab], None]] = {
    "first visit, until an arrow key works": _open,
    "second visit, with a filled cache": _open,
    "the next page": _next,
    "another order": _sort,
    "a search, after the last letter": _search,
}
