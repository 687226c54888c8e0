import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 60_000


def cards(page: Page) -> list[str]:
    """Return the names on the visible cards."""
    return page.locator(".lab-env:visible .lab-name").all_inner_texts()


def test_the_url_keeps_the_filter_and_every_card_has_a_picture(visit: Visit) -> None:
    page = visit.open("/")
    expect(page.locator(".lab-env").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("lander")
    expect(page.get_by_text("2 of")).to_be_visible()
    page.get_by_label("Actions").click()
    page.get_by_role("option", name="Continuous").click()
    expect(page.get_by_text("1 of")).to_be_visible()
    page.wait_for_url("**/?q=lander&actions=continuous")

    page.reload()

    expect(page.get_by_text("1 of")).to_be_visible()
    assert cards(page) == ["Lunar Lander, continuous"]
    picture = page.locator(".lab-env:visible img")
    expect(picture).to_have_js_property("complete", True, timeout=_TIMEOUT_MS)
    assert picture.evaluate("image => image.naturalWidth") > 0
    train = page.get_by_role("link", name="Train: Lunar Lander, continuous")
    expect(train).to_have_attribute("href", "/train?env=LunarLanderContinuous-v3")


def test_the_install_command_of_a_family_can_be_copied(visit: Visit) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.open("/?family=mujoco")
    missing = page.locator(".lab-env.is-missing:visible")
    if missing.count() == 0:
        pytest.skip("every family is installed here")

    missing.first.get_by_role("button", name="Copy").click()

    expect(missing.first.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == ".venv/bin/pip install --editable '.[mujoco]'"


def test_explain_is_off_by_default_and_remembered_when_turned_on(visit: Visit) -> None:
    page = visit.open("/train")
    sentence = page.get_by_text("CartPole counts as solved from 475 on.").first
    expect(sentence).to_be_hidden()

    page.get_by_role("button", name="Explain", exact=True).click()

    expect(sentence).to_be_visible()
    expect(page.get_by_text("clips every update")).to_be_visible()
    setup = page.get_by_role("region", name="Setup")
    expect(setup.get_by_text("Step size of the optimizer.")).to_be_visible()
    page.reload()
    expect(sentence).to_be_visible()
    expect(page.get_by_role("button", name="Explain", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_role("button", name="Explain", exact=True).click()
    expect(sentence).to_be_hidden()


def expect_status(page: Page, text: str) -> None:
    expect(page.get_by_label("Live feed").get_by_text(text, exact=True)).to_be_visible(
        timeout=_TIMEOUT_MS
    )


def test_shortcuts_do_what_buttons_do(visit: Visit) -> None:
    page = visit.open("/train")
    page.get_by_label("Total timesteps", exact=True).fill("5,000,000")
    page.keyboard.type("t?")
    expect(page.get_by_label("Total timesteps", exact=True)).to_have_value("5,000,000t?")
    train = page.get_by_role("button", name="Train", exact=True)
    expect(train).to_be_disabled()
    page.get_by_label("Total timesteps", exact=True).fill("5,000,000")
    expect(train).to_be_enabled()
    page.evaluate("document.activeElement.blur()")

    page.keyboard.press("t")
    expect_status(page, "running")
    page.keyboard.press(" ")
    expect_status(page, "paused")
    page.keyboard.press(" ")
    expect_status(page, "running")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Help")).to_be_hidden()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect_status(page, "stopped")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("g")
    page.keyboard.press("r")

    page.wait_for_url("**/runs")


def test_a_key_right_after_a_page_was_opened_is_not_the_second_of_two(visit: Visit) -> None:
    page = visit.open("/runs")
    page.evaluate("performance.now = () => 100")

    page.keyboard.press("h")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.url.endswith("/runs")
    page.keyboard.press("g")
    page.keyboard.press("h")

    page.wait_for_url(visit.server.url + "/")


def test_shortcuts_can_be_switched_off(visit: Visit) -> None:
    page = visit.open("/runs")
    page.get_by_role("button", name="Help and keyboard shortcuts").click()
    page.get_by_label("Enable keyboard shortcuts").uncheck()
    page.keyboard.press("Escape")

    page.keyboard.press("?")

    expect(page.get_by_role("dialog", name="Help")).to_be_hidden()


def test_the_first_tab_stop_skips_to_the_content(visit: Visit) -> None:
    page = visit.open("/runs")
    page.wait_for_timeout(500)

    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "content"


@pytest.mark.parametrize("width", [1440])
def test_the_tour_ends_with_a_trained_agent(
    browser: Browser, server: LabServer, width: int
) -> None:
    visit = Visit(browser, server, width=width)
    page = visit.open("/train?tour=1")
    tour = page.get_by_label("Tour", exact=True)
    expect(tour.get_by_text("step 1 of 4")).to_be_visible()
    setup = page.get_by_role("button", name="Setup", exact=True)
    if setup.is_visible():
        expect(tour.get_by_text("Open Setup.")).to_be_visible()
        setup.click()
    page.get_by_role("radio", name="CartPole-v1").click()
    expect(tour.get_by_text("step 2 of 4")).to_be_visible()

    # Enough that the page shows the training before it is over.
    page.get_by_label("Total timesteps", exact=True).fill("50000")
    page.get_by_role("button", name="Train", exact=True).click()

    expect(tour.get_by_text("step 3 of 4")).to_be_visible(timeout=_TIMEOUT_MS)
    expect(tour.get_by_text("step 4 of 4")).to_be_visible(timeout=120_000)
    run = server.api.get("/runs").json()["items"][0]
    assert (run["status"], run["env_id"], run["config"]["preset"]) == (
        *("completed", "CartPole-v1", "fast"),
    )
    if setup.is_visible():
        setup.click()
    page.get_by_role("button", name="Test", exact=True).click()
    expect(tour.get_by_text("Watch the evaluation")).to_be_visible()
    page.reload()
    page.get_by_text("RL LAB // GYM MANAGER").wait_for()
    expect(tour).to_have_count(0)
    visit.close()


def test_the_tour_can_be_left_by_keyboard_and_stays_closed(visit: Visit) -> None:
    page = visit.open("/train?tour=1")
    tour = page.get_by_label("Tour", exact=True)
    leave = tour.get_by_role("button", name="Leave")
    expect(leave).to_be_visible()
    leave.focus()

    page.keyboard.press("Escape")

    expect(tour).to_have_count(0)
    assert page.url.endswith("/train")
