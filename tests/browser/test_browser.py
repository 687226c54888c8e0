import json
import re
import zipfile
from typing import Any

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 60_000


def start_training(page: Page, timesteps: str = "5,000,000") -> None:
    page.get_by_label("Total timesteps", exact=True).fill(timesteps)
    page.get_by_role("button", name="Train", exact=True).click()


def stop_training(page: Page) -> None:
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_label("Live feed").get_by_text("stopped", exact=True)).to_be_visible(
        timeout=_TIMEOUT_MS
    )


def number(page: Page, name: str) -> str:
    cell = page.get_by_label("Metrics").locator(".lab-cell").filter(has_text=name)
    return cell.locator(".lab-number").inner_text()


def frame(page: Page) -> str:
    """Return the pixels of the live view as a data URL."""
    return str(page.locator(".lab-stage canvas").evaluate("canvas => canvas.toDataURL()"))


def test_a_run_is_trained_watched_and_stopped_and_its_model_downloaded(visit: Visit) -> None:
    page = visit.open("/train")
    start_training(page)

    page.locator(".lab-stage canvas").wait_for(timeout=_TIMEOUT_MS)
    first = frame(page)
    page.wait_for_function(
        "first => document.querySelector('.lab-stage canvas').toDataURL() !== first",
        arg=first,
        timeout=_TIMEOUT_MS,
    )
    page.wait_for_function(
        "() => [...document.querySelectorAll('.is-metrics .lab-number')]"
        ".every(number => number.innerText !== '-')",
        timeout=_TIMEOUT_MS,
    )
    expect(page.get_by_label("Events").get_by_text("Training started.")).to_be_visible()
    expect(page.locator(".lab-stage-badge", has_text=re.compile(r"Reward .\d"))).to_be_visible()
    left = page.get_by_label("Live feed").get_by_text(re.compile(r"\d s left|min"))
    expect(left.first).to_be_visible(timeout=_TIMEOUT_MS)
    stop_training(page)

    with page.expect_download() as download:
        page.get_by_text("Download model.zip").click()
    with zipfile.ZipFile(download.value.path()) as model:
        assert json.loads(model.read("data"))["num_timesteps"] > 0
    assert number(page, "Mean reward") != "-"


def test_a_second_tab_shows_the_same_frame_and_metrics_as_a_reloaded_one(visit: Visit) -> None:
    second = visit.open("/train")
    page = visit.open("/train")
    start_training(page)
    expect(second.get_by_label("Live feed").get_by_text("running")).to_be_visible(
        timeout=_TIMEOUT_MS
    )
    page.locator(".lab-stage canvas").wait_for(timeout=_TIMEOUT_MS)

    page.reload()
    for tab in (page, second):
        tab.locator(".lab-stage canvas").wait_for(timeout=_TIMEOUT_MS)
    stop_training(second)
    expect(page.get_by_label("Live feed").get_by_text("stopped", exact=True)).to_be_visible()

    page.wait_for_timeout(500)
    for name in ("Mean reward", "Eps length", "Loss", "FPS"):
        assert number(page, name) == number(second, name)
    assert frame(page) == frame(second)


def renderer_processes(visit: Visit) -> list[psutil.Process]:
    """Return the renderer processes of the tabs."""
    assert visit.context.browser is not None
    info = visit.context.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    ids = [entry["id"] for entry in info["processInfo"] if entry["type"] == "renderer"]
    return [psutil.Process(number) for number in ids]


def test_a_suspended_background_tab_catches_up_when_it_resumes(
    visit: Visit, server: LabServer
) -> None:
    page = visit.open("/train")
    run = server.create(total_timesteps=50_000_000, start=True)
    feed = page.get_by_label("Live feed")
    expect(feed.get_by_text("running", exact=True)).to_be_visible()

    # As a browser does with background tabs.
    suspended = renderer_processes(visit)
    for process in suspended:
        process.suspend()
    try:
        server.wait_for_steps(run["id"], 20_000)
        server.api.post(f"/runs/{run['id']}/stop")
        ended = server.wait_for(run["id"], "stopped")
    finally:
        for process in suspended:
            process.resume()

    expect(feed.get_by_text("stopped", exact=True)).to_be_visible()
    mean = page.get_by_label("Metrics").locator(".lab-cell").filter(has_text="Mean reward")
    expect(mean.locator(".lab-number")).to_have_text(f"{ended['latest']['mean_reward']:,.1f}")


def point_counts(page: Page, selector: str) -> Any:
    """Return how many points the charts hold in the browser."""
    element_id = str(page.locator(selector).get_attribute("id")).removeprefix("c")
    return page.evaluate(f"getElement({element_id}).counts()")


def test_the_charts_hold_the_same_points_live_and_after_a_reload(
    visit: Visit, server: LabServer
) -> None:
    page = visit.open("/train")
    start_training(page, "4,000")
    expect(page.get_by_label("Live feed").get_by_text("completed")).to_be_visible(
        timeout=_TIMEOUT_MS
    )
    page.wait_for_timeout(1_000)
    live = point_counts(page, ".lab-curves-box")

    page.reload()
    page.wait_for_timeout(1_500)

    newest = server.api.get("/runs").json()["items"][0]
    assert live["reward"] == newest["episodes"]
    assert point_counts(page, ".lab-curves-box") == live
    assert point_counts(page, ".lab-bars-box") == [min(100, newest["episodes"])]
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "100")


def test_the_theme_is_remembered(visit: Visit) -> None:
    page = visit.open("/train")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(250, 250, 250)"

    page.get_by_role("button", name="Theme").click()
    page.wait_for_function(f"() => {background} === 'rgb(11, 11, 12)'")
    # The server sets the cookie in a separate message.
    page.wait_for_function("() => document.cookie.includes('theme=dark')")
    page.reload()
    page.get_by_text("RL LAB // GYM MANAGER").wait_for()

    page.wait_for_function(f"() => {background} === 'rgb(11, 11, 12)'")


def test_an_incompatible_algorithm_is_rejected_in_the_form(visit: Visit) -> None:
    page = visit.open("/train")
    page.get_by_role("radio", name="BipedalWalker-v3").click()
    page.get_by_label("Algorithm").click()
    page.get_by_role("option", name="DQN", exact=True).click()

    reason = "DQN needs discrete actions, BipedalWalker-v3 has continuous ones."
    expect(page.get_by_text(reason).first).to_be_visible()
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_disabled()


def test_the_form_can_be_reached_by_keyboard(visit: Visit) -> None:
    page = visit.open("/train")
    page.wait_for_timeout(500)
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.innerText || document.activeElement.ariaLabel")
        )

    # The environments are one tab stop: arrow keys move between them.
    assert any(text and "CartPole-v1" in text for text in reached)
    assert any(text and text.strip().lower() == "train" for text in reached)


def test_the_api_documentation_renders_without_external_requests(visit: Visit) -> None:
    page = visit.context.new_page()
    page.on("request", lambda request: visit._check_host(request.url))
    page.goto(visit.server.url + "/api/docs")

    start = page.locator('[data-path="/runs/{run_id}/start"]')
    expect(start.first).to_be_visible(timeout=_TIMEOUT_MS)
