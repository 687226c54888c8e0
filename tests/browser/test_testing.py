"""TRAIN, TEST, the video, and back to the live feed, in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Visit
from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_PATIENCE_MS = 90_000
_SMALL: dict[str, Any] = {"hyperparameters": {"n_steps": 64, "net_arch": [8]}, "n_envs": 2}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    with LabServer(tmp_path_factory.mktemp("tested"), free_port(), RL_LAB_WORKERS="1") as server:
        yield server


@pytest.fixture(params=[1440])
def visitor(browser: Browser, lab: LabServer, request: pytest.FixtureRequest) -> Iterator[Visit]:
    opened = Visit(browser, lab, width=request.param)
    yield opened
    opened.close()


def badge(page: Page, text: str | re.Pattern[str]) -> Any:
    return page.locator(".lab-stage-badge:visible", has_text=text)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def run_test(page: Page, episodes: int) -> None:
    page.get_by_label("Episodes", exact=True).fill(str(episodes))
    press(page, "Test")


def plays(page: Page) -> None:
    """The video on stage has pictures, a length, and can be entered at its middle."""
    video = page.locator("video:visible")
    expect(video).to_be_visible(timeout=_PATIENCE_MS)
    page.wait_for_function("() => document.querySelector('video').readyState >= 1")
    reached = video.evaluate(
        """async video => {
            video.muted = true;
            video.currentTime = video.duration / 2;
            await new Promise(done => video.addEventListener('seeked', done, {once: true}));
            await video.play();
            const begin = video.currentTime;
            await new Promise(done => setTimeout(done, 300));
            video.pause();
            return [begin, video.currentTime, video.duration, video.videoWidth];
        }"""
    )
    begin, later, duration, width = reached
    assert 0 < begin <= later
    assert begin >= duration / 3
    assert width == 600


def downloads_are_whole(page: Page, *, episodes: int) -> None:
    panel = page.get_by_label("Evaluations", exact=True)
    with page.expect_download() as download:
        page.get_by_text("Download video").click()
    assert re.fullmatch(r"eval_\d{8}-\d{6}\.mp4", download.value.suggested_filename)
    with page.expect_download() as table:
        panel.get_by_role("button", name="CSV of Returns").click()
    rows = Path(table.value.path()).read_text().splitlines()
    assert rows[0] == "episode,seed,return,length"
    assert len(rows) == 1 + episodes
    with page.expect_download() as chart:
        panel.get_by_role("button", name="PNG of Returns").click()
    assert Path(chart.value.path()).read_bytes().startswith(b"\x89PNG")


def test_train_test_watch_the_video_and_go_back(visitor: Visit, tmp_path: Path) -> None:
    page = visitor.open("/train")
    page.get_by_label("Total timesteps").fill("2,000")
    press(page, "Train")
    live = page.get_by_label("Live feed")
    expect(live.get_by_text("completed", exact=True)).to_be_visible(timeout=_PATIENCE_MS)

    run_test(page, 4)

    expect(badge(page, "evaluation")).to_be_visible(timeout=_PATIENCE_MS)
    expect(badge(page, re.compile(r"Episode [1-4]/4"))).to_be_visible()
    expect(badge(page, re.compile(r"Reward \+\d"))).to_be_visible()
    expect(
        page.get_by_label("Events").get_by_text("Evaluation started: 4 episodes.")
    ).to_be_visible()
    plays(page)
    expect(
        page.get_by_label("Events").get_by_text(re.compile("Evaluation complete: mean"))
    ).to_be_visible()
    panel = page.get_by_label("Evaluations", exact=True)
    expect(panel.get_by_text(re.compile(r"\d ± \d")).first).to_be_visible()
    downloads_are_whole(page, episodes=4)

    page.reload()
    plays(page)
    second = visitor.open("/train")
    plays(second)
    press(page, "Close video")
    expect(page.locator("video:visible")).to_have_count(0)
    expect(page.locator(".lab-stage canvas:visible")).to_be_visible(timeout=_PATIENCE_MS)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]


def test_there_is_nothing_to_test_in_an_empty_lab(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with LabServer(tmp_path_factory.mktemp("empty"), free_port()) as empty:
        visit = Visit(browser, empty)
        page = visit.open("/train")

        test = page.get_by_role("button", name="Test", exact=True)
        expect(test).to_be_disabled()
        test.hover(force=True)
        expect(page.get_by_text("There is nothing to test yet. Train first.")).to_be_visible()
        expect(page.get_by_role("button", name="Record", exact=True)).to_be_disabled()
        expect(page.get_by_text("Not tested yet")).to_be_visible()
        visit.close()


def test_code_of_ones_own_judges_a_test_and_says_in_which_line_it_is_wrong(
    visitor: Visit, lab: LabServer
) -> None:
    page = visitor.open(f"/runs/{lab.train(**_SMALL)['id']}")
    press(page, "Evaluation code")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("No problems")).to_be_visible(timeout=_PATIENCE_MS)

    dialog.get_by_role("button", name="Test with this code").click()

    expect(dialog).to_have_count(0)
    numbers = page.get_by_label("Numbers of the evaluation code")
    expect(numbers).to_contain_text("reward_per_step", timeout=_PATIENCE_MS)
    expect(numbers).to_contain_text("1.000")

    press(page, "Evaluation code")
    expect(dialog.get_by_text("No problems")).to_be_visible(timeout=_PATIENCE_MS)
    dialog.locator(".lab-code-place").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("def evaluate(episode): return episode.wind\n")
    expect(dialog.get_by_text("No problems")).to_be_visible(timeout=_PATIENCE_MS)
    dialog.get_by_role("button", name="Test with this code").click()
    row = page.get_by_label("Tests", exact=True).locator("li").first
    expect(row).to_contain_text("evaluate.py, line 1: AttributeError", timeout=_PATIENCE_MS)
