"""The panel of insights in a real browser."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.analysis.doctor.test_doctor import JUMPS
from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = pytest.mark.browser

_TIMEOUT_MS = 120_000


@pytest.fixture(scope="module")
def broken(server: LabServer) -> dict[str, Any]:
    return server.train(
        algorithm="DQN",
        total_timesteps=6_000,
        seed=1,
        name="never learns",
        hyperparameters={"learning_starts": 50_000},
    )


@pytest.fixture(scope="module", params=[1440, 390])
def page(
    request: pytest.FixtureRequest, browser: Browser, server: LabServer, broken: dict[str, Any]
) -> Iterator[Page]:
    """The page of the broken run."""
    visit = Visit(browser, server, width=request.param)
    yield visit.open(f"/runs/{broken['id']}")
    visit.close()


def analysis(page: Page) -> Any:
    return page.get_by_role("region", name="Analysis & explainer")


def test_the_most_important_insight_is_expanded_and_the_rest_collapsed(page: Page) -> None:
    panel = analysis(page)

    expect(panel.get_by_text("Policy behavior detected")).to_be_visible(timeout=_TIMEOUT_MS)
    first = panel.locator(".lab-insight").first
    expect(first.get_by_text("Learning never starts")).to_be_visible()
    expect(first.get_by_text(re.compile("learning_starts is 50,000"))).to_be_visible()
    expect(first.get_by_text(re.compile("steps 0 to"))).to_be_visible()
    expect(first.get_by_role("button", name="Apply now")).to_be_hidden()
    is_too_wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert not is_too_wide


def test_an_insight_shows_its_window_on_the_curves(page: Page) -> None:
    first = analysis(page).locator(".lab-insight").first
    page.evaluate("window.addEventListener('show_window', e => { window.shown = e.detail })")

    first.get_by_role("button", name="Show on chart").click(timeout=_TIMEOUT_MS)

    page.wait_for_function("() => window.shown")
    shown = page.evaluate("window.shown")
    assert shown["metric"] == "loss"
    assert shown["first"] == 0
    assert shown["last"] > 1_000
    page.wait_for_function("() => document.activeElement.matches('.lab-curve-plot')")


def test_an_insight_waits_for_curves_that_are_still_loading(
    visit: Visit, broken: dict[str, Any]
) -> None:
    """The window is requested as soon as the curves listen, before their first server response."""
    page = visit.open(f"/runs/{broken['id']}")
    page.add_init_script(
        """const listen = window.addEventListener.bind(window);
        const detail = { metric: "loss", first: 1000, last: 2000 };
        const show = () => window.dispatchEvent(new CustomEvent("show_window", { detail }));
        window.addEventListener = (name, ...more) => {
          listen(name, ...more);
          if (name === "show_window") queueMicrotask(show);
        };"""
    )

    page.reload()

    page.wait_for_function("() => document.activeElement.matches('.lab-curve-plot')")
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()


def test_a_report_is_generated_and_downloaded(page: Page) -> None:
    panel = analysis(page)

    panel.get_by_role("button", name="Generate report").click()
    expect(panel.get_by_text("The report is ready.")).to_be_visible(timeout=_TIMEOUT_MS)
    with page.expect_download() as download:
        panel.get_by_role("link", name="Page").click()

    content = download.value.path().read_text()
    assert "never learns" in content
    assert "Learning never starts" in content


def test_a_suggested_change_is_reviewed_and_started_as_a_new_run(
    page: Page, server: LabServer, broken: dict[str, Any]
) -> None:
    """The last test on this page, because it navigates away."""
    first = analysis(page).locator(".lab-insight").first

    first.get_by_role("button", name="Apply as a new run").click(timeout=_TIMEOUT_MS)
    expect(first.get_by_text("300 instead of 50,000")).to_be_visible()
    first.get_by_role("button", name="Start run").click()

    page.wait_for_url(lambda url: "/runs/" in url and broken["id"] not in url)
    created_id = page.url.rpartition("/")[2]
    config = server.get(created_id)["config"]
    assert config["hyperparameters"]["learning_starts"] == 300
    assert config["seed"] == broken["config"]["seed"]
    server.wait_for(created_id, "completed")


def test_a_suggested_change_is_applied_to_a_running_run(visit: Visit) -> None:
    lab = visit.server
    run = lab.create(**JUMPS, start=True)
    page = visit.open(f"/runs/{run['id']}")
    card = analysis(page).locator('.lab-insight[data-code="policy_jumps"]')

    card.wait_for(timeout=_TIMEOUT_MS)
    # The first insight expands by itself, which takes a while.
    page.wait_for_timeout(1_000)
    button = card.get_by_role("button", name="Apply now")
    if not button.is_visible():
        card.locator(".q-item").first.click()
    button.click()
    expect(card.get_by_text(re.compile("instead of 0.5"))).to_be_visible()
    card.get_by_role("button", name="Apply change").click()

    expect(
        page.get_by_label("Events").get_by_text(re.compile("learning_rate 0.0003"))
    ).to_be_visible(timeout=_TIMEOUT_MS)
    lab.api.post(f"/runs/{run['id']}/stop")
    lab.wait_for(run["id"], "stopped")
