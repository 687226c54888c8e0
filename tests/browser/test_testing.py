"""Evaluations, their videos and their code in a real browser."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 90_000
# Watched evaluations play at the speed of the environment, so their episodes are short.
_SMALL: dict[str, Any] = {
    "total_timesteps": 200,
    "hyperparameters": {"n_steps": 64, "net_arch": [8]},
    "n_envs": 2,
    "wrappers": {"time_limit": 30},
}


def badge(page: Page, text: str | re.Pattern[str]) -> Any:
    return page.locator(".lab-stage-badge:visible", has_text=text)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def start_evaluation(page: Page, episodes: int) -> None:
    page.get_by_label("Episodes", exact=True).fill(str(episodes))
    press(page, "Test")


def check_video(page: Page) -> None:
    """Check that the shown video has frames and a duration, and plays from its middle."""
    video = page.locator("video:visible")
    expect(video).to_be_visible(timeout=_TIMEOUT_MS)
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


def check_downloads(page: Page, *, episodes: int) -> None:
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


def test_an_evaluation_is_watched_and_its_video_played_and_closed(
    visit: Visit, server: LabServer
) -> None:
    page = visit.open(f"/runs/{server.train(**_SMALL)['id']}")

    start_evaluation(page, 4)

    expect(badge(page, "evaluation")).to_be_visible(timeout=_TIMEOUT_MS)
    expect(badge(page, re.compile(r"Episode [1-4]/4"))).to_be_visible()
    expect(badge(page, re.compile(r"Reward \+\d"))).to_be_visible()
    expect(
        page.get_by_label("Events").get_by_text("Evaluation started: 4 episodes.")
    ).to_be_visible()
    check_video(page)
    expect(
        page.get_by_label("Events").get_by_text(re.compile("Evaluation complete: mean"))
    ).to_be_visible()
    panel = page.get_by_label("Evaluations", exact=True)
    expect(panel.get_by_text(re.compile("4 episodes, on test seeds"))).to_be_visible()
    check_downloads(page, episodes=4)

    page.reload()
    check_video(page)
    second = visit.open("/train")
    check_video(second)
    press(page, "Close video")
    expect(page.locator("video:visible")).to_have_count(0)
    expect(page.locator(".lab-stage canvas:visible")).to_be_visible(timeout=_TIMEOUT_MS)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]


def test_evaluation_code_adds_metrics_and_its_errors_name_the_line(
    visit: Visit, server: LabServer
) -> None:
    page = visit.open(f"/runs/{server.train(**_SMALL)['id']}")
    press(page, "Evaluation code")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("No problems")).to_be_visible(timeout=_TIMEOUT_MS)

    dialog.get_by_role("button", name="Test with this code").click()

    expect(dialog).to_have_count(0)
    metrics = page.get_by_label("Metrics of the evaluation code")
    expect(metrics).to_contain_text("reward_per_step", timeout=_TIMEOUT_MS)
    expect(metrics).to_contain_text("1.000")

    press(page, "Evaluation code")
    expect(dialog.get_by_text("No problems")).to_be_visible(timeout=_TIMEOUT_MS)
    dialog.locator(".lab-code-place").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("def evaluate(episode): return episode.wind\n")
    expect(dialog.get_by_text("No problems")).to_be_visible(timeout=_TIMEOUT_MS)
    dialog.get_by_role("button", name="Test with this code").click()
    row = page.get_by_label("Past evaluations", exact=True).locator("li").first
    expect(row).to_contain_text("evaluate.py, line 1: AttributeError", timeout=_TIMEOUT_MS)


def test_a_final_evaluation_makes_the_score_and_other_settings_are_shown_with_the_numbers(
    visit: Visit, server: LabServer
) -> None:
    noisy = {**_SMALL, "wrappers": {"time_limit": 30, "observation_noise": 0.1}}
    run = server.train(**noisy)
    page = visit.open(f"/runs/{run['id']}")
    panel = page.get_by_label("Evaluations", exact=True)
    expect(page.get_by_text(re.compile(r"Score: [\d.]+ \(training mean\)"))).to_be_visible()

    page.get_by_text("Evaluation settings", exact=True).click()
    page.get_by_label("Deterministic actions", exact=True).click()
    page.get_by_label("Disturbances of training", exact=True).click()
    expect(page.get_by_text("Actions are sampled, as in training")).to_be_visible()
    start_evaluation(page, 2)
    expect(panel.get_by_text(re.compile("on test seeds .* sampled actions"))).to_be_visible(
        timeout=_TIMEOUT_MS
    )
    expect(panel.get_by_text(re.compile("with observation noise"))).to_be_visible()

    page.get_by_role("combobox", name="Seeds", exact=True).click()
    page.get_by_role("option", name="Final seeds").click()
    expect(page.get_by_label("Deterministic actions", exact=True)).to_be_hidden()
    start_evaluation(page, 20)
    expect(page.get_by_text(re.compile(r"Score: [\d.]+ \(final evaluation\)"))).to_be_visible(
        timeout=_TIMEOUT_MS
    )
    expect(panel.get_by_text(re.compile("on the final seeds .* deterministic"))).to_be_visible()
    expect(panel.get_by_text(re.compile("without observation noise"))).to_be_visible()
