"""The setup form and the live feed in a real browser, on a wide screen and on a phone."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.app.accounts.users import ApiUser, new_user
from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 60_000
_PHONE = 390


@pytest.fixture
def phone(browser: Browser, server: LabServer) -> Iterator[Visit]:
    opened = Visit(browser, server, width=_PHONE)
    yield opened
    opened.close()


def open_setup(page: Page) -> Locator:
    """Show the form, which is a sheet on a phone."""
    form = page.get_by_label("Setup", exact=True)
    if page.evaluate("innerWidth") == _PHONE:
        expect(form).not_to_be_visible()
        page.get_by_role("button", name="Setup", exact=True).click()
    expect(form).to_be_visible()
    return form


def open_setup_on_a_phone(page: Page) -> Locator:
    """Show the same form on a narrow screen."""
    page.set_viewport_size({"width": _PHONE, "height": 900})
    return open_setup(page)


def test_url_parameters_fill_the_form(visit: Visit) -> None:
    page = visit.open("/train?env=LunarLander-v2&algorithm=dqn&preset=RL+Zoo")

    for open_form in (open_setup, open_setup_on_a_phone):
        form = open_form(page)
        expect(form.get_by_role("radio", name="LunarLander-v3")).to_be_checked()
        expect(form.get_by_label("Algorithm")).to_have_value("DQN")
        expect(form.get_by_role("radio", name="RL Zoo")).to_be_checked()
        expect(form.get_by_text("DQN on LunarLander-v3")).to_be_visible()


def test_invalid_url_parameters_are_reported_and_ignored(visit: Visit) -> None:
    page = visit.open("/train?env=CartPole-v2&algorithm=magic&preset=best")

    for open_form in (open_setup, open_setup_on_a_phone):
        form = open_form(page)
        notice = form.get_by_role("status")
        expect(notice).to_contain_text(
            "Unknown environment 'CartPole-v2'. Did you mean CartPole-v1?"
        )
        expect(notice).to_contain_text("Unknown algorithm 'magic'.")
        expect(notice).to_contain_text("Unknown preset 'best'.")
        expect(form.get_by_role("radio", name="CartPole-v1")).to_be_checked()


def test_presets_show_their_measured_results_if_there_are_any(visit: Visit) -> None:
    page = visit.open("/train")
    fast = page.get_by_label("Setup", exact=True).get_by_role("radio", name="Fast")

    for open_form in (open_setup, open_setup_on_a_phone):
        form = open_form(page)
        expect(fast).to_contain_text("500.0")
        expect(fast).to_contain_text(re.compile(r"\d s"))
    form.get_by_label("Algorithm").click()
    page.get_by_role("option", name="TRPO", exact=True).click()
    expect(fast).to_have_count(0)
    zoo = form.get_by_role("radio", name="RL Zoo")
    expect(zoo).to_contain_text("500.0 published")
    zoo.click()
    expect(form.get_by_text("Not measured for this environment")).to_be_visible()
    expect(form.get_by_text("RL Zoo publishes 500.0 for one run")).to_be_visible()


def test_a_preset_that_a_pair_lacks_is_reported(visit: Visit) -> None:
    page = visit.open("/train?env=CartPole-v1&algorithm=a2c&preset=fast")

    form = open_setup(page)
    expect(form.get_by_role("status")).to_contain_text("A2C on CartPole-v1 has no preset Fast.")
    expect(form.get_by_role("radio", name=re.compile("^Default"))).to_be_checked()


def test_a_setting_is_found_by_typing(phone: Visit) -> None:
    page = phone.open("/train")
    form = open_setup(page)
    form.get_by_text("Advanced", exact=True).click()
    expect(form.get_by_text("Network", exact=True)).to_be_visible()
    expect(form.get_by_label("clip_range", exact=True)).not_to_be_visible()

    form.get_by_label("Find a setting").fill("clip")

    expect(form.get_by_label("clip_range", exact=True)).to_be_visible()
    expect(form.get_by_text("Network", exact=True)).not_to_be_visible()
    expect(form.get_by_label("n_epochs")).not_to_be_visible()
    form.get_by_label("Find a setting").fill("no such thing")
    expect(form.get_by_text('No setting matches "no such thing".')).to_be_visible()


def test_a_changed_value_is_marked_and_undone_with_a_click(phone: Visit) -> None:
    page = phone.open("/train")
    form = open_setup(page)
    rate = form.get_by_label("Learning rate", exact=True)
    expect(rate).to_have_value("0.0003")
    field = form.locator(".lab-knob").filter(has=page.get_by_label("Learning rate", exact=True))

    rate.fill("1e-3 -> 0")
    expect(field).to_have_class(re.compile("is-changed"))
    curve = field.get_by_role("img", name="Schedule 0.001 -> 0")
    expect(curve).to_be_visible()
    expect(curve.locator("polyline")).to_have_attribute(
        "points", "2.0,2.0 2.0,2.0 94.0,22.0 94.0,22.0"
    )
    field.get_by_role("button", name="Undo").click()

    expect(rate).to_have_value("0.0003")
    expect(field).not_to_have_class(re.compile("is-changed"))
    expect(curve).not_to_be_visible()


def test_an_invalid_value_is_reported_while_it_is_typed(phone: Visit) -> None:
    page = phone.open("/train")
    form = open_setup(page)

    form.get_by_label("Total timesteps", exact=True).fill("-5")

    expect(form.get_by_text("Total timesteps must be at least 1, got -5.").first).to_be_visible()
    expect(form.get_by_role("button", name="Train", exact=True)).to_be_disabled()


def test_a_reload_keeps_typed_values_and_a_new_visit_does_not(visit: Visit) -> None:
    page = visit.open("/train")
    form = open_setup(page)
    default = form.get_by_label("Total timesteps", exact=True).input_value()
    form.get_by_label("Total timesteps", exact=True).fill("-5")
    expect(form.get_by_text("Total timesteps must be at least 1, got -5.").first).to_be_visible()

    page.reload()
    form = open_setup(page)
    expect(form.get_by_label("Total timesteps", exact=True)).to_have_value(
        "-5", timeout=_TIMEOUT_MS
    )

    page.goto(page.url)
    page.wait_for_function("window.did_handshake")
    expect(open_setup(page).get_by_label("Total timesteps", exact=True)).to_have_value(default)


def test_train_is_replaced_by_pause_and_stop_and_then_by_resume(phone: Visit) -> None:
    page = phone.open("/train")
    form = open_setup(page)
    form.get_by_label("Total timesteps", exact=True).fill("5,000,000")
    form.get_by_role("button", name="Train", exact=True).click()
    live = page.get_by_label("Live feed")

    expect(form).not_to_be_visible(timeout=_TIMEOUT_MS)
    live.get_by_role("button", name="Pause").click(timeout=_TIMEOUT_MS)
    live.get_by_role("button", name="Resume").click(timeout=_TIMEOUT_MS)
    expect(live.get_by_text(re.compile(r"left$"))).to_be_visible(timeout=_TIMEOUT_MS)
    live.get_by_role("button", name="Stop").click(timeout=_TIMEOUT_MS)

    expect(live.get_by_text(re.compile(r"Stopped at step [\d,]+ of 5,000,000"))).to_be_visible(
        timeout=_TIMEOUT_MS
    )
    expect(live.get_by_role("button", name="Resume")).to_be_visible()
    expect(live.get_by_role("button", name="Stop")).not_to_be_visible()


def test_a_finished_run_can_be_trained_again(visit: Visit, server: LabServer) -> None:
    run = server.train(total_timesteps=300, hyperparameters={"gamma": 0.9})
    page = visit.open(f"/runs/{run['id']}")
    live = page.get_by_label("Live feed")
    expect(live.get_by_text("Finished after")).to_be_visible()

    live.get_by_role("button", name="Train again").click()
    page.wait_for_url(lambda url: run["id"] not in url, timeout=_TIMEOUT_MS)

    again = server.wait_for(page.url.rsplit("/", 1)[1], "completed")
    assert again["config"]["hyperparameters"]["gamma"] == 0.9
    assert again["config"]["seed"] != run["config"]["seed"]


def test_a_queued_run_shows_its_position(visit: Visit, server: LabServer) -> None:
    first = server.create(start=True, total_timesteps=5_000_000)
    server.wait_for(first["id"], "running")
    waiting = [server.create(start=True, total_timesteps=300) for _ in range(2)]
    page = visit.open(f"/runs/{waiting[1]['id']}")

    expect(page.get_by_text("2nd in the queue")).to_be_visible()
    server.api.post(f"/runs/{waiting[0]['id']}/stop")
    expect(page.get_by_text("1st in the queue")).to_be_visible(timeout=_TIMEOUT_MS)

    server.api.post(f"/runs/{first['id']}/stop")
    expect(page.get_by_label("Live feed").get_by_text("completed")).to_be_visible(
        timeout=_TIMEOUT_MS
    )


def test_on_a_phone_the_setup_is_a_sheet(phone: Visit) -> None:
    page = phone.open("/train")
    form = page.get_by_label("Setup", exact=True)
    expect(form).not_to_be_visible()

    open_setup(page)
    page.keyboard.press("Escape")
    expect(form).not_to_be_visible()
    expect(page.get_by_role("button", name="Setup", exact=True)).to_be_focused()
    open_setup(page)
    page.go_back()

    expect(form).not_to_be_visible()
    assert page.url.endswith("/train")


def test_touch_targets_on_a_phone_are_large_enough(phone: Visit, server: LabServer) -> None:
    run = server.train(total_timesteps=600)
    page = phone.open(f"/runs/{run['id']}")
    page.locator(".lab-curve").first.wait_for()
    open_setup(page)

    targets = (
        ".is-setup button, .is-live button, .is-curves :is(button, a, select), .lab-sheet button"
    )
    small = page.evaluate(f"""() => [...document.querySelectorAll('{targets}')]
        .filter(e => e.offsetParent && e.getBoundingClientRect().height < 44)
        .map(e => e.outerHTML.slice(0, 100))""")

    assert small == []


@pytest.mark.parametrize(
    ("width", "order"), [(1000, ["live", "metrics", "setup", "log", "rewards", "curves"])]
)
def test_a_single_column_shows_important_panels_first(
    browser: Browser, server: LabServer, width: int, order: list[str]
) -> None:
    visit = Visit(browser, server, width=width)
    page = visit.open("/train")

    tops = [
        page.locator(f".lab-panel.is-{place}").bounding_box()["y"]  # type: ignore[index]
        for place in order
    ]

    assert tops == sorted(tops)
    visit.close()


def test_a_viewer_sees_why_the_form_is_disabled(
    browser: Browser, guarded: LabServer, admin: ApiUser
) -> None:
    viewer = new_user(guarded)
    admin.api.patch(f"/admin/people/{viewer.me['id']}", json={"role": "viewer"})
    visit = Visit(browser, guarded)
    cookie = {"name": "lab_session", "value": viewer.api.cookies["lab_session"]}
    visit.context.add_cookies([{**cookie, "url": guarded.url}])  # type: ignore[list-item]
    page = visit.open("/train")

    form = page.get_by_label("Setup", exact=True)
    expect(form.get_by_text("Viewers have read-only access. An administrator")).to_be_visible()
    expect(form.get_by_role("button", name="Train", exact=True)).to_be_disabled()
    expect(form.get_by_label("Total timesteps", exact=True)).to_have_count(1)
    assert page.locator(".lab-form[inert]").count() == 1
    visit.close()
