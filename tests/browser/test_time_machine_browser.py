"""The time machine in a real browser: pointing, keys, and the evolution video."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Visit
from tests.conftest import free_port
from tests.lab_server import LabServer, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_PATIENCE_MS = 180_000


def waits(folder: Path) -> bool:
    return not folder.is_dir() or bool([*folder.glob("*.policy")])


def words_at(page: Page, share: float) -> str:
    """Point at a part of the reward curve, and return what the clip there says it is."""
    plot = page.locator('[data-chart="Reward"]')
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 58 + (box["width"] - 70) * share, box["y"] + box["height"] / 2)
    clip = page.locator(".lab-machine-clip.is-floating")
    expect(clip).to_be_visible()
    page.wait_for_function("() => document.querySelector('.is-floating video').readyState >= 2")
    return clip.inner_text()


def test_a_moment_is_shown_by_pointing_and_by_keys_and_all_of_them_as_one_video(
    browser: Browser, tmp_path: Path
) -> None:
    with LabServer(tmp_path, free_port(), RL_LAB_WORKERS="1", RL_LAB_CLIPS="3") as lab:
        run = lab.train(hyperparameters={"n_steps": 64, "net_arch": [8]}, n_envs=2)
        wait_until(lambda: not waits(tmp_path / run["id"] / "clips"), within=180)
        last = f"step {run['timesteps']:,}"
        visit = Visit(browser, lab)
        page = visit.open(f"/runs/{run['id']}")

        assert words_at(page, 1.0).startswith(last)
        assert words_at(page, 0.0).startswith("step 0, score ")
        page.mouse.move(2, 2)
        expect(page.locator(".lab-machine-clip")).to_have_count(0)

        slider = page.get_by_role("slider", name="Moment of the training")
        slider.focus()
        expect(page.locator(".lab-machine-clip:not(.is-floating)")).to_contain_text(last)
        page.keyboard.press("Home")
        expect(page.locator(".lab-machine-clip figcaption")).to_contain_text("step 0, score")
        page.get_by_role("button", name="Hide").click()

        page.get_by_role("button", name="Evolution").click()
        stage = page.locator(".lab-video video")
        expect(stage).to_be_visible(timeout=_PATIENCE_MS)
        expect(page.locator(".lab-video-bar")).to_contain_text("moments up to")
        row = page.get_by_label("Tests", exact=True).locator("li", has_text="evolution")
        expect(row.get_by_role("button", name="Play")).to_be_visible()
        visit.close()
