"""The curves of a run in a real browser, on a wide screen and on a phone."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from storage.metrics.metrics import MetricsWriter
from tests.browser.conftest import Visit
from tests.lab_server import LabServer, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 60_000
_MAX_POINTS = 1_500


@pytest.fixture
def phone(browser: Browser, server: LabServer) -> Iterator[Visit]:
    opened = Visit(browser, server, width=390)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def written_runs(server: LabServer) -> dict[str, str]:
    """The ids of runs whose metrics were written while the server was down.

    A page of an earlier test may still follow new runs, and would keep what it read before.
    """
    lines = {
        "Long run": [_line(i) for i in range(1, 30_001)],
        "Shaped": [
            {**_line(i), "shaped_reward": i / 2, "terms": {"alive": i, "pole upright": -0.1}}
            for i in range(1, 9)
        ],
    }
    ids = {name: str(server.create(name=name)["id"]) for name in lines}
    server.stop_all()
    server.kill()
    for name, run_id in ids.items():
        writer = MetricsWriter(server.folder / run_id / "metrics.jsonl")
        writer.append(lines[name])
        writer.close()
    server.restart()
    return ids


@pytest.fixture(scope="module")
def long_run(written_runs: dict[str, str]) -> str:
    """A run with thirty thousand lines of metrics, nine episodes and then an update."""
    return written_runs["Long run"]


@pytest.fixture(scope="module", params=[1440, 390])
def page(
    browser: Browser, server: LabServer, long_run: str, request: pytest.FixtureRequest
) -> Iterator[Page]:
    """The page of the long run; a test that zooms or selects on it restores the view."""
    visit = Visit(browser, server, width=request.param)
    yield visit.open(f"/runs/{long_run}")
    visit.close()


def _line(i: int) -> dict[str, Any]:
    line = {
        "t": f"2026-01-01T00:00:{i % 60:02d}.000Z",
        "timesteps": 100 * i,
        "vec_steps": 25 * i,
        "updates": i // 10,
        "episode": i - i // 10,
        "elapsed_s": i / 50,
        "fps": 5_000.0,
    }
    if i % 10:
        return {**line, "reward": float(i % 500), "episode_length": i % 500}
    # A peak that must survive any downsampling.
    kl = 0.9 if i == 15_000 else 0.01
    return {**line, "approx_kl": kl, "loss": 1.0, "value_loss": 0.5, "entropy": -0.1}


def figure(page: Page, title: str) -> Locator:
    return page.get_by_role("group", name=f"Curve of {title.lower()}", exact=True)


def plot(page: Page, title: str) -> Locator:
    area = figure(page, title).locator(".lab-curve-plot")
    expect(area).to_be_visible(timeout=_TIMEOUT_MS)
    area.scroll_into_view_if_needed()
    return area


def evaluate(page: Page, expression: str) -> Any:
    """Evaluate JavaScript in which `c` is the component that holds the points."""
    element = str(page.locator(".lab-curves-box").get_attribute("id")).removeprefix("c")
    return page.evaluate(f"((c) => {expression})(getElement({element}))")


def wait_for_data(page: Page) -> None:
    """Wait until the browser has the response to its latest request."""
    page.wait_for_timeout(300)
    wait_until(lambda: bool(evaluate(page, "c.question > 0 && c.extras.question === c.question")))


def drag(page: Page, title: str, begin: float, end: float) -> None:
    """Drag over a plot, from one fraction of its width to another."""
    box = plot(page, title).bounding_box()
    assert box is not None
    y, inner = box["y"] + box["height"] / 2, box["width"] - 70
    page.mouse.move(box["x"] + 58 + begin * inner, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 58 + (begin + end) / 2 * inner, y)
    page.mouse.move(box["x"] + 58 + end * inner, y)
    page.mouse.up()


def test_only_measured_metrics_are_drawn(page: Page) -> None:
    for title in ("Reward", "Episode length", "Losses", "Entropy", "KL divergence", "FPS"):
        expect(figure(page, title)).to_be_visible(timeout=_TIMEOUT_MS)
    expect(figure(page, "Clip fraction")).to_have_count(0)
    counts = evaluate(page, "c.counts()")
    assert max(counts.values()) <= _MAX_POINTS
    assert evaluate(page, "c.series.approx_kl.points.some(([, y]) => y === 0.9)")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_axis_can_be_switched_and_a_reload_keeps_it(visit: Visit, long_run: str) -> None:
    page = visit.open(f"/runs/{long_run}")
    plot(page, "Reward")
    ends = {}

    for axis in ("Steps", "Vectorized steps", "Updates", "Episodes", "Time"):
        page.get_by_label("x-axis").select_option(label=axis)
        wait_for_data(page)
        ends[axis] = evaluate(page, "c.extent[1]")

    assert ends == {
        "Steps": 3_000_000,
        "Vectorized steps": 750_000,
        "Updates": 3_000,
        "Episodes": 27_000,
        "Time": 600,
    }
    page.get_by_label("Smoothing").fill("0.5")
    page.get_by_text("Log y").click()
    page.reload()
    plot(page, "Reward")
    expect(page.get_by_label("x-axis")).to_have_value("elapsed_s")
    expect(page.get_by_label("Smoothing")).to_have_value("0.5")
    expect(page.get_by_role("checkbox", name="Log y")).to_be_checked()
    plot(page, "Entropy")
    expect(figure(page, "Entropy").get_by_text("Not on a log scale")).to_be_visible()
    wait_for_data(page)
    assert evaluate(page, "c.extent[1]") == 600


def test_a_zoom_requests_more_points_and_can_be_reset(phone: Visit, long_run: str) -> None:
    page = phone.open(f"/runs/{long_run}")
    plot(page, "Reward")
    wait_for_data(page)
    inside = "c.series.reward.points.filter(([x]) => x > 1420000 && x < 1490000).length"
    before = evaluate(page, inside)

    drag(page, "Reward", 0.465, 0.505)
    wait_for_data(page)

    assert before < 80
    # As many episodes ended there, and now each has a point.
    assert evaluate(page, inside) == 630
    low, high = evaluate(page, "c.range()")
    assert 1_250_000 < low < 1_420_000
    assert 1_490_000 < high < 1_700_000
    page.reload()
    plot(page, "Reward")
    wait_for_data(page)
    assert evaluate(page, "c.range()") == [low, high]

    page.get_by_role("button", name="Reset zoom").click()
    wait_for_data(page)
    assert evaluate(page, "c.range()") == [0, 3_000_000]


def test_a_superseded_request_is_not_answered(page: Page) -> None:
    plot(page, "Reward")
    wait_for_data(page)
    # As a page that opens does: its first request waits for the connection, the second doesn't.
    look = "c.$emit('look', { run: c.run, axis: c.axis, from: null, to: null, question: c.question"

    evaluate(page, f"(c.question += 2, {look} }}), {look} - 1 }}), null)")

    wait_for_data(page)


def test_keys_zoom_and_pan(page: Page) -> None:
    plot(page, "Reward").focus()

    page.keyboard.press("+")
    assert evaluate(page, "c.range()") == [750_000, 2_250_000]
    page.keyboard.press("ArrowRight")
    assert evaluate(page, "c.range()") == [1_125_000, 2_625_000]
    page.keyboard.press("0")

    assert evaluate(page, "c.range()") == [0, 3_000_000]
    expect(page.get_by_role("button", name="Reset zoom")).to_have_count(0)
    wait_for_data(page)


def test_pointing_at_one_chart_shows_the_same_step_in_all_charts(page: Page) -> None:
    plot(page, "Entropy")

    plot(page, "Episode length").hover()

    expect(page.locator(".lab-curve-cross")).to_have_count(page.locator(".lab-curve").count())
    value = figure(page, "Entropy").locator(".lab-curve-names b")
    expect(value).to_have_text("-0.1")
    expect(page.locator(".lab-curves-at")).to_have_text(re.compile(r"steps 1,\d{3},\d{3}"))
    lefts = page.eval_on_selector_all(
        ".lab-curve:not(.is-wide) .lab-curve-cross", "all => all.map(e => e.style.left)"
    )
    assert len(set(lefts)) == 1


def test_the_csv_has_every_line_of_the_metrics_file(
    page: Page, server: LabServer, long_run: str
) -> None:
    plot(page, "Losses")

    with page.expect_download() as download:
        page.get_by_label("Losses as CSV").click()

    assert download.value.suggested_filename.endswith(".csv")
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    lines = (server.folder / long_run / "metrics.jsonl").read_text().splitlines()
    written = [line for line in map(json.loads, lines) if "loss" in line]
    assert [int(row["n"]) for row in rows] == [line["n"] for line in written]
    for row, line in zip(rows, written, strict=True):
        assert float(row["loss"]) == line["loss"]
        assert float(row["value_loss"]) == line["value_loss"]
        assert (row["t"], int(row["timesteps"])) == (line["t"], line["timesteps"])


def test_a_chart_is_downloaded_as_png(page: Page) -> None:
    plot(page, "Reward")

    with page.expect_download() as download:
        page.get_by_label("Reward as PNG").click()

    assert download.value.suggested_filename == "long-run-reward.png"
    content = Path(download.value.path()).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 5_000


def test_reward_terms_are_lines_of_one_chart(
    visit: Visit, server: LabServer, written_runs: dict[str, str]
) -> None:
    page = visit.open(f"/runs/{written_runs['Shaped']}")

    terms = figure(page, "Reward terms")
    expect(terms.locator(".lab-curve-names li")).to_have_text(
        ["alive", "pole upright"], timeout=_TIMEOUT_MS
    )
    expect(figure(page, "Shaped reward")).to_be_visible()
    table = terms.get_by_role("link", name="CSV").get_attribute("href")
    assert table is not None
    rows = server.api.get(table.removeprefix("/api")).text.splitlines()
    assert rows[0].endswith("terms/alive,terms/pole upright")
    assert rows[1].endswith("1,-0.1")


def test_pointing_at_a_chart_does_not_shift_the_layout(page: Page) -> None:
    box = plot(page, "Losses").bounding_box()
    assert box is not None
    wait_for_data(page)
    tops = """[...document.querySelectorAll('.lab-curve, .lab-curve-plot, .lab-panel')]
        .map(e => Math.round(e.getBoundingClientRect().top + scrollY))"""
    before = page.evaluate(tops)

    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 80)

    expect(figure(page, "Losses").locator("b").first).not_to_be_empty()
    assert page.evaluate(tops) == before

    distance = """document.querySelector('.lab-curves-box').getBoundingClientRect().top
        - document.querySelector('.lab-bars').getBoundingClientRect().top"""
    # At this width the hint has one line and the description of an episode two.
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": 560, "height": 900})
    before = page.evaluate(distance)

    page.locator(".lab-bars").hover()

    expect(page.locator(".lab-bars-words")).to_contain_text("steps long")
    assert page.evaluate(distance) == before
    page.set_viewport_size(size)


def test_losses_can_be_scaled_to_one_range(page: Page) -> None:
    plot(page, "Losses")
    losses = "c.charts.find((one) => one.title === 'Losses')"
    drawn = f"c.option({losses}).series.map((line) => line.data[0][1])"
    assert evaluate(page, drawn) == [1, 1, 0.5, 0.5]

    page.get_by_role("button", name="Scaled").click()

    assert evaluate(page, drawn) == [1, 1, 1, 1]
    page.get_by_role("button", name="Scaled").click()
    assert evaluate(page, drawn) == [1, 1, 0.5, 0.5]


def test_a_bar_describes_its_episode(visit: Visit, server: LabServer) -> None:
    run = server.train(total_timesteps=4_000)
    page = visit.open(f"/runs/{run['id']}")
    bars = page.get_by_role("listbox", name="Reward of the last 100 episodes")
    expect(bars).to_be_visible(timeout=_TIMEOUT_MS)
    description = page.locator(".lab-bars-words")
    items = server.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    newest = [line for line in items if "reward" in line][-100:]
    expect(bars.get_by_role("option")).to_have_count(len(newest))

    bars.focus()
    page.keyboard.press("End")
    expect(description).to_contain_text(f"Episode {newest[-1]['episode']:,} · reward")
    expect(description).to_contain_text(f"{newest[-1]['episode_length']} steps long")
    expect(description).to_contain_text(f"ended at step {newest[-1]['timesteps']:,}")
    page.keyboard.press("ArrowLeft")
    expect(description).to_contain_text(f"Episode {newest[-2]['episode']:,} ·")
    bars.click(position={"x": 1, "y": 50})
    expect(description).to_contain_text(f"Episode {newest[0]['episode']:,} ·")

    page.get_by_role("button", name="Reset", exact=True).click()
    expect(page.get_by_text("View cleared")).to_be_visible()
    page.reload()
    expect(bars.get_by_role("option")).to_have_count(len(newest))
