"""The reward lab in a real browser: write, check, use, train, view, branch and fix a reward."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Visit
from tests.lab_server import ROOT, LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 60_000
_PHONE = 390
_AXE = ROOT / "assets" / "node_modules" / "axe-core" / "axe.min.js"
_FAILS = "def reward_function(obs, action):\n    return 1 / 0\n"


@pytest.fixture
def phone(browser: Browser, server: LabServer) -> Iterator[Visit]:
    opened = Visit(browser, server, width=_PHONE)
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=[1440, _PHONE])
def lab(browser: Browser, server: LabServer, request: pytest.FixtureRequest) -> Iterator[Locator]:
    """A reward lab that tests share; each replaces its code."""
    visit = Visit(browser, server, width=request.param)
    yield open_editor(visit.open("/train"))
    visit.close()


def open_editor(page: Page) -> Locator:
    if page.evaluate("innerWidth") == _PHONE:
        page.get_by_role("button", name="Setup", exact=True).click()
    page.get_by_role("button", name="Edit reward").click()
    return opened_editor(page)


def opened_editor(page: Page) -> Locator:
    lab = page.get_by_role("dialog", name="Reward lab")
    place = lab.locator(".lab-code-place")
    expect(place).to_have_attribute("aria-busy", "false", timeout=_TIMEOUT_MS)
    return lab


def replace_code(lab: Locator, text: str) -> None:
    lab.locator(".view-lines, .cm-content").click()
    lab.page.keyboard.press("Control+a")
    lab.page.keyboard.insert_text(text)


def run_check(lab: Locator) -> None:
    lab.get_by_role("button", name="Check", exact=True).click()
    expect(lab.get_by_text("Reward per episode")).to_be_visible(timeout=_TIMEOUT_MS)


def test_problems_and_completions_appear_while_typing(lab: Locator) -> None:
    replace_code(lab, "def reward_function(obs, action):\n    return speed")
    expect(lab.get_by_role("button", name="Line 2")).to_contain_text("speed")

    replace_code(lab, "")
    lab.page.keyboard.type("next_obs.")

    completions = lab.page.locator(".suggest-widget, .cm-tooltip-autocomplete")
    expect(completions.get_by_text("pole_angle", exact=True)).to_be_visible()
    lab.page.keyboard.press("Backspace")
    expect(completions.get_by_text("pole_angle", exact=True)).not_to_be_visible()


def test_an_exploit_of_the_reward_is_shown_in_red(lab: Locator) -> None:
    replace_code(lab, "def reward_function(obs, action):\n    return -1.0\n")
    expect(lab.get_by_text("No problems")).to_be_visible()

    run_check(lab)

    expect(lab.locator(".lab-error").filter(has_text="Hackable by: ")).to_be_visible()
    expect(lab.locator(".lab-badge.is-bad").first).to_have_text("Hackable")


@pytest.mark.skipif(not _AXE.is_file(), reason="axe-core isn't installed: make setup-test")
def test_the_reward_lab_has_no_serious_accessibility_violation(lab: Locator) -> None:
    replace_code(lab, "def reward_function(obs, action):\n    return {'alive': 1.0}\n")
    expect(lab.get_by_text("No problems")).to_be_visible()
    run_check(lab)
    lab.page.add_script_tag(path=_AXE)
    violations = lab.page.evaluate("axe.run(document.querySelector('.lab-reward'))")["violations"]
    serious = [
        (each["id"], each["nodes"][0]["html"][:200])
        for each in violations
        if each["impact"] in {"serious", "critical"}
    ]
    assert serious == []


def test_a_template_is_checked_used_and_trained_with(phone: Visit) -> None:
    page = phone.open("/train")
    lab = open_editor(page)
    lab.get_by_label("Start from").click()
    page.get_by_role("option", name="Centre the pole").click()
    expect(lab.locator(".lab-code-place")).to_contain_text("upright")
    run_check(lab)
    expect(lab.locator("tr").filter(has_text="centre").first).to_contain_text("%")
    expect(lab.get_by_text("action 0 forever")).to_be_visible()
    lab.get_by_role("button", name="Use this reward").click()

    expect(lab).not_to_be_visible()
    row = page.get_by_role("group", name="Reward", exact=True)
    expect(row).to_contain_text("alive, centre, upright")
    page.get_by_label("Total timesteps", exact=True).fill("3000")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text("Learns from a custom reward.")).to_be_visible()
    terms = page.locator(".lab-curve").filter(has_text="Reward terms")
    expect(terms).to_contain_text("upright", timeout=_TIMEOUT_MS)
    bar = page.get_by_role("listbox").get_by_role("option").last
    expect(bar).to_have_accessible_name(
        re.compile(r"· shaped_reward [\d.-]+ · alive [\d.-]+ · centre [\d.-]+ · upright [\d.-]+$")
    )


def test_the_form_returns_to_the_reward_of_the_environment(visit: Visit) -> None:
    page = visit.open("/train")
    lab = open_editor(page)
    lab.get_by_role("button", name="Use this reward").click()
    row = page.get_by_role("group", name="Reward", exact=True)
    expect(row).to_contain_text("Your version")

    row.get_by_role("button", name="Use environment reward").click()

    expect(row).to_contain_text("Environment reward")


def test_a_run_shows_its_reward_and_branches_with_another(visit: Visit) -> None:
    code = "def reward_function(obs, action):\n    return {'alive': 1.0}\n"
    run = visit.server.train(reward_code=code)
    page = visit.open(f"/runs/{run['id']}")
    page.get_by_role("button", name="Show reward").click()
    lab = opened_editor(page)
    expect(lab.locator(".lab-code-place")).to_contain_text("alive")
    expect(lab.get_by_role("button", name="Format")).not_to_be_visible()

    lab.get_by_role("button", name="Edit and branch").click()
    expect(lab.get_by_role("button", name="Format")).to_be_enabled()
    replace_code(lab, code.replace("alive", "awake"))
    lab.get_by_role("button", name="Branch with this reward").click()

    page.wait_for_url(lambda url: "/runs/" in url and run["id"] not in url, timeout=_TIMEOUT_MS)
    branch = visit.server.get(page.url.rpartition("/")[2])
    assert "awake" in branch["config"]["reward_code"]
    visit.server.wait_for(branch["id"], "completed", "failed")


def test_a_failed_run_opens_its_reward_at_the_failing_line(visit: Visit) -> None:
    run = visit.server.train(reward_code=_FAILS)
    assert run["status"] == "failed"
    page = visit.open(f"/runs/{run['id']}")

    page.get_by_role("button", name="Fix line 2").click()

    lab = opened_editor(page)
    expect(lab.locator(".current-line-numbers, .active-line-number").first).to_have_text("2")
    lab.get_by_label("Compare with").click()
    page.get_by_role("option", name="The default").click()
    expect(lab.get_by_text("Compared with the default")).to_be_visible()
    expect(lab.locator(".lab-code-place")).to_contain_text("return reward")


def test_a_saved_version_is_available_on_the_next_visit(visit: Visit) -> None:
    page = visit.open("/train?env=Pendulum-v1")
    lab = open_editor(page)
    replace_code(lab, "saved = 'on the first visit'\n")
    page.keyboard.press("Control+s")
    expect(lab.get_by_text("Saved as version 1")).to_be_visible()

    page.reload()
    lab = open_editor(page)
    lab.get_by_label("Start from").click()
    page.get_by_role("option", name="Version 1").click()
    expect(lab.locator(".lab-code-place")).to_contain_text("on the first visit")
