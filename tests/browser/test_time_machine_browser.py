"""The time machine in a real browser: pointing, keys, and the evolution video."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Visit
from tests.conftest import free_port
from tests.lab_server import LabServer, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 180_000


def has_pending_clips(folder: Path) -> bool:
    return not folder.is_dir() or bool([*folder.glob("*.policy")])


def clip_text_at(page: Page, fraction: float) -> str:
    """Point at a fraction of the reward curve and return the text of the clip there."""
    plot = page.locator('[data-chart="Reward"]')
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 58 + (box["width"] - 70) * fraction, box["y"] + box["height"] / 2)
    clip = page.locator(".lab-machine-clip.is-floating")
    expect(clip).to_be_visible()
    page.wait_for_function("() => document.querySelector('.is-floating video').readyState >= 2")
    return clip.inner_text()


def test_clips_are_shown_by_pointer_and_keyboard_and_joined_into_one_video(
    browser: Browser, tmp_path: Path
) -> None:
    with LabServer(tmp_path, free_port(), RL_LAB_WORKERS="1", RL_LAB_CLIPS="3") as lab:
        run = lab.train(hyperparameters={"n_steps": 64, "net_arch": [8]}, n_envs=2)
        wait_until(lambda: not has_pending_clips(tmp_path / run["id"] / "clips"), within=180)
        last = f"step {run['timesteps']:,}"
        visit = Visit(browser, lab)
        page = visit.open(f"/runs/{run['id']}")

        assert clip_text_at(page, 1.0).startswith(last)
        assert clip_text_at(page, 0.0).startswith("step 0, score ")
        page.mouse.move(2, 2)
        expect(page.locator(".lab-machine-clip")).to_have_count(0)

        slider = page.get_by_role("slider", name="Training step of the clip")
        slider.focus()
        expect(page.locator(".lab-machine-clip:not(.is-floating)")).to_contain_text(last)
        page.keyboard.press("Home")
        expect(page.locator(".lab-machine-clip figcaption")).to_contain_text("step 0, score")
        page.get_by_role("button", name="Hide").click()

        page.get_by_role("button", name="Evolution").click()
        video = page.locator(".lab-video video")
        expect(video).to_be_visible(timeout=_TIMEOUT_MS)
        expect(page.locator(".lab-video-bar")).to_contain_text("clips up to")
        row = page.get_by_label("Past evaluations", exact=True).locator("li", has_text="evolution")
        expect(row.get_by_role("button", name="Play")).to_be_visible()
        visit.close()
