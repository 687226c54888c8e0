"""The page of an environment in a real browser: watch, step through, play."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Visit
from tests.lab_server import LabServer, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 60_000


@pytest.fixture
def phone(browser: Browser, server: LabServer) -> Iterator[Visit]:
    opened = Visit(browser, server, width=390)
    yield opened
    opened.close()


def _has_previews(server: LabServer) -> bool:
    """Return whether workers of previews are running."""
    return bool(server.workers())


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def cell(page: Page, name: str) -> str:
    return (
        page.get_by_label("State", exact=True)
        .locator(".lab-cell")
        .filter(has_text=re.compile(f"^{name}"))
        .locator(".lab-number, .lab-value")
        .inner_text()
    )


def expect_state(page: Page, name: str, text: str) -> None:
    panel = page.get_by_label("State", exact=True)
    state = panel.locator(".lab-cell").filter(has_text=re.compile(f"^{name}"))
    expect(state.locator(".lab-number, .lab-value")).to_have_text(text, timeout=_TIMEOUT_MS)


def observed_values(page: Page) -> list[str]:
    return page.locator(".lab-observed td.lab-mono").all_inner_texts()


def frame(page: Page) -> str:
    return str(page.locator(".lab-stage canvas").evaluate("canvas => canvas.toDataURL()"))


def wait_for_another_frame(page: Page, than: str) -> None:
    page.wait_for_function(
        "than => document.querySelector('.lab-stage canvas').toDataURL() !== than",
        arg=than,
        timeout=_TIMEOUT_MS,
    )


def test_a_random_agent_is_watched_live(phone: Visit) -> None:
    page = phone.open("/environments/LunarLander-v3")
    press(page, "Watch")
    page.locator(".lab-stage canvas").wait_for(timeout=_TIMEOUT_MS)

    wait_for_another_frame(page, frame(page))

    expect(page.locator(".lab-stage-badge", has_text="preview")).to_be_visible()
    page.wait_for_function(
        "() => !document.querySelector('.lab-observed td.lab-mono').innerText.startsWith('-')"
    )
    expect(page.get_by_role("link", name="Train on this environment")).to_have_attribute(
        "href", "/train?env=LunarLander-v3"
    )


def test_an_environment_is_stepped_forward_and_back(phone: Visit) -> None:
    page = phone.open("/environments/FrozenLake-v1")
    press(page, "Step")
    expect_state(page, "Step", "0")
    press(page, "right")
    expect_state(page, "Step", "1")
    expect_state(page, "Last action", "right")
    before, frame_before = observed_values(page), frame(page)
    press(page, "Random")
    expect_state(page, "Step", "2")

    press(page, "Back")

    expect_state(page, "Step", "1")
    assert observed_values(page) == before
    page.wait_for_function(
        "drawn => document.querySelector('.lab-stage canvas').toDataURL() === drawn",
        arg=frame_before,
    )
    press(page, "Reset")
    expect_state(page, "Step", "0")
    expect(page.get_by_role("button", name="Back", exact=True)).to_be_disabled()
    seed = page.get_by_label("Seed").input_value()
    press(page, "New seed")
    expect(page.get_by_label("Seed")).not_to_have_value(seed)


def test_an_episode_is_played_by_keyboard_and_saved_as_a_demonstration(visit: Visit) -> None:
    page = visit.open("/environments/CartPole-v1")
    press(page, "Play")
    expect(page.get_by_text("Press a key to start.")).to_be_visible(timeout=_TIMEOUT_MS)
    scroll_y = page.evaluate("scrollY")
    page.keyboard.down("ArrowRight")
    page.keyboard.down("ArrowDown")
    expect(page.get_by_text("The episode is over")).to_be_visible(timeout=_TIMEOUT_MS)
    page.keyboard.up("ArrowRight")
    page.keyboard.up("ArrowDown")

    best = page.get_by_label("Score").locator(".lab-cell").filter(has_text="Best played")
    expect(best.locator(".lab-number")).not_to_have_text("-")
    press(page, "Save as demonstration")
    demonstrations = page.get_by_label("Demonstrations").locator("li")
    expect(demonstrations).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename.endswith(".npz")
    page.get_by_role("button", name=re.compile("^Delete the demonstration")).click()
    expect(page.get_by_text("No demonstrations yet")).to_be_visible()
    page.evaluate("y => scrollTo(0, y)", scroll_y)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Press a key to start.")).to_be_visible(timeout=_TIMEOUT_MS)
    random = page.get_by_label("Score").locator(".lab-cell").filter(has_text="Random")
    expect(random.locator(".lab-number")).to_have_text(re.compile(r"^\d\d\.\d$"))


def test_arrow_keys_play_and_do_not_scroll(visit: Visit) -> None:
    page = visit.open("/environments/GridWorld-v0")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": 400})
    press(page, "Play")
    expect(page.get_by_text("Press a key to start.")).to_be_visible(timeout=_TIMEOUT_MS)
    scroll_y = page.evaluate("scrollY")

    page.keyboard.press("ArrowDown")

    expect_state(page, "Step", "1")
    expect_state(page, "Last action", "down")
    assert page.evaluate("scrollY") == scroll_y


def test_an_environment_is_played_by_touch(browser: Browser, server: LabServer) -> None:
    visit = Visit(browser, server, width=390)
    page = visit.open("/environments/Taxi-v4")
    press(page, "Play")
    button = page.get_by_role("group", name="Controls").get_by_role("button", name="north")
    expect(button).to_be_enabled(timeout=_TIMEOUT_MS)
    sizes = page.locator(".lab-key").evaluate_all(
        "keys => keys.map(key => key.getBoundingClientRect()).map(box => [box.width, box.height])"
    )

    button.dispatch_event(
        "pointerdown", {"pointerType": "touch", "pointerId": 1, "isPrimary": True}
    )
    button.dispatch_event("pointerup", {"pointerType": "touch", "pointerId": 1, "isPrimary": True})

    expect_state(page, "Step", "1")
    expect_state(page, "Last action", "north")
    assert len(sizes) == 6
    assert all(min(size) >= 44 for size in sizes)
    visit.close()


def test_continuous_actions_are_set_with_sliders(visit: Visit) -> None:
    page = visit.open("/environments/Pendulum-v1")
    press(page, "Step")
    slider = page.get_by_role("group", name="Controls").get_by_role("slider", name="torque")
    expect(slider).to_be_enabled(timeout=_TIMEOUT_MS)

    slider.fill("-1.52")
    page.get_by_role("group", name="Actions").get_by_role("button", name="Take a step").click()

    expect_state(page, "Step", "1")
    expect_state(page, "Last action", "-1.52")


@pytest.mark.parametrize(
    "env_id", ["BipedalWalker-v3", "ALE/Seaquest-v5", "Hopper-v5", "CartPole-v1"]
)
def test_the_page_is_no_wider_than_the_screen_and_keeps_its_order(
    visit: Visit, env_id: str
) -> None:
    page = visit.open(f"/environments/{env_id}")
    places = page.locator(".lab-stage, .lab-modes, .lab-state-view")
    for width in (1440, 1000, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        tops = places.evaluate_all("all => all.map(e => e.getBoundingClientRect().top)")
        assert tops == sorted(tops) or width > 1023


def test_a_missing_family_shows_its_install_command(visit: Visit) -> None:
    page = visit.open("/environments/Hopper-v5")

    expect(page.get_by_text("pip install --editable '.[mujoco]'")).to_be_visible()
    expect(page.get_by_role("button", name="Watch")).to_have_count(0)


def test_a_preview_whose_worker_died_can_be_started_again(visit: Visit, server: LabServer) -> None:
    wait_until(lambda: not _has_previews(server))
    page = visit.open("/environments/CartPole-v1")
    press(page, "Step")
    expect_state(page, "Step", "0")
    (worker,) = server.workers()

    worker.kill()
    expect(page.get_by_text("CartPole-v1 ended the preview")).to_be_visible(timeout=_TIMEOUT_MS)
    press(page, "Start again")

    press(page, "push left")
    expect_state(page, "Step", "1")


def test_leaving_the_page_ends_its_worker(visit: Visit, server: LabServer) -> None:
    page = visit.open("/environments/CartPole-v1")
    press(page, "Watch")
    page.locator(".lab-stage canvas").wait_for(timeout=_TIMEOUT_MS)
    assert _has_previews(server)

    page.goto(server.url + "/runs")

    wait_until(lambda: not _has_previews(server), within=40)
