"""The pages of an unused lab, and what they do when their server ends."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Visit
from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 60_000
_FIRST_VISIT_BYTES = 700_000


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    with LabServer(tmp_path_factory.mktemp("empty"), free_port(), RL_LAB_WORKERS="1") as lab:
        yield lab


def test_evaluating_is_disabled_in_an_empty_lab(browser: Browser, empty: LabServer) -> None:
    visit = Visit(browser, empty)
    page = visit.open("/train")

    test = page.get_by_role("button", name="Test", exact=True)
    expect(test).to_be_disabled()
    test.hover(force=True)
    expect(page.get_by_text("There is no policy to evaluate yet. Train first.")).to_be_visible()
    expect(page.get_by_role("button", name="Record", exact=True)).to_be_disabled()
    expect(page.get_by_text("No evaluation yet")).to_be_visible()
    visit.close()


def test_a_first_visit_transfers_few_bytes(browser: Browser, empty: LabServer) -> None:
    sizes = {address: _bytes_received(browser, empty, address) for address in ("/", "/train")}

    assert max(sizes.values()) < _FIRST_VISIT_BYTES, sizes


def _bytes_received(browser: Browser, lab: LabServer, address: str) -> float:
    context = browser.new_context()
    received: list[float] = []
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    page.goto(f"{lab.url}{address}")
    page.wait_for_load_state("networkidle")
    context.close()
    return sum(received)


def test_pages_report_a_lost_connection_and_reconnect(browser: Browser, empty: LabServer) -> None:
    visit = Visit(browser, empty)
    runs = visit.open("/runs")
    expect(runs.locator("html")).to_have_attribute("data-connection", "on")
    page = visit.open("/train")
    page.get_by_label("Total timesteps", exact=True).fill("5,000,000")
    page.get_by_role("button", name="Train", exact=True).click()
    page.locator(".lab-stage canvas").wait_for(timeout=_TIMEOUT_MS)

    empty.kill()
    expect(runs.get_by_text("Connection lost, reconnecting")).to_be_visible(timeout=_TIMEOUT_MS)
    assert runs.locator("#popup").is_hidden()
    empty.restart()

    # The pages reconnect without a reload.
    expect(runs.get_by_text("Reconnected")).to_be_visible(timeout=_TIMEOUT_MS)
    expect(page.get_by_label("Live feed").get_by_text("interrupted", exact=True)).to_be_visible(
        timeout=_TIMEOUT_MS
    )
    expect(page.get_by_role("alert").get_by_text("The server ended")).to_be_visible()
    visit.context.close()
