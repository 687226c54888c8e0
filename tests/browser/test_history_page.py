"""The list of past runs in a real browser, on a wide screen and on a phone."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 20_000


@pytest.fixture
def phone(browser: Browser, server: LabServer) -> Iterator[Visit]:
    opened = Visit(browser, server, width=390)
    yield opened
    opened.close()


@pytest.fixture
def word() -> str:
    """A word that only the runs of one test have in their names."""
    return f"w{uuid4().hex[:8]}"


def create(server: LabServer, word: str, *run_names: str, **options: Any) -> list[dict[str, Any]]:
    return [server.create(name=f"{word} {name}", **options) for name in run_names]


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row", name=re.compile(name))


def run_names(page: Page) -> list[str]:
    page.wait_for_timeout(100)
    return page.locator("tbody tr .lab-run-name .is-link").all_inner_texts()


def choose_action(page: Page, name: str, action: str) -> None:
    row(page, name).get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name=action, exact=True).click()


def test_runs_are_selected_and_deleted_by_keyboard_and_restored(
    visit: Visit, server: LabServer, word: str
) -> None:
    created = create(server, word, "a", "b", "c", "d")
    page = visit.open(f"/runs?q={word}&sort=name")
    expect(row(page, f"{word} a")).to_be_visible()

    page.keyboard.press("ArrowDown")
    expect(row(page, f"{word} a")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    page.keyboard.press("Shift+ArrowDown")
    expect(page.get_by_text("2 selected")).to_be_visible()
    expect(row(page, f"{word} c")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Delete")

    expect(page.get_by_text("2 runs were deleted.")).to_be_visible()
    expect(row(page, f"{word} b")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row(page, f"{word} b")).to_be_visible()
    assert [server.api.get(f"/runs/{run['id']}").status_code for run in created] == [200] * 4


def test_runs_are_searched_selected_and_opened_by_keyboard(
    visit: Visit, server: LabServer, word: str
) -> None:
    [run, _] = create(server, word, "one", "two")
    page = visit.open("/runs")
    expect(page.get_by_role("treegrid")).to_be_visible()
    page.wait_for_timeout(300)

    # After a click on the background, the arrow keys still move in the table.
    page.mouse.click(4, page.viewport_size["height"] - 4)  # type: ignore[index]
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("treegrid").locator("tbody tr").first).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Search runs")).to_be_focused()
    page.keyboard.type(f"{word} one")
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+a")
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("1 selected")).to_have_count(0)
    page.keyboard.press("Enter")

    page.wait_for_url(f"**/runs/{run['id']}")


def test_the_url_keeps_filter_and_order_and_supports_going_back(
    visit: Visit, server: LabServer, word: str
) -> None:
    create(server, word, "b", "a", "c", tags=[word])
    page = visit.open("/runs")
    page.get_by_label("Tag", exact=True).click()
    page.get_by_role("option", name=word).click()
    expect(page.get_by_text("3 runs", exact=True)).to_be_visible()
    page.get_by_role("button", name="Name").click()
    expect(page.get_by_role("columnheader", name="Name")).to_have_attribute(
        "aria-sort", "ascending"
    )
    assert page.url.endswith(f"/runs?tag={word}&sort=name")
    assert run_names(page) == [f"{word} a", f"{word} b", f"{word} c"]

    page.go_back()
    expect(page.get_by_role("columnheader", name="Created")).to_have_attribute(
        "aria-sort", "descending"
    )
    assert run_names(page) == [f"{word} c", f"{word} a", f"{word} b"]
    page.go_forward()
    expect(row(page, f"{word} a")).to_be_visible()
    page.reload()

    expect(page.get_by_role("columnheader", name="Name")).to_have_attribute(
        "aria-sort", "ascending"
    )


def test_a_filter_without_matches_is_reported_and_can_be_cleared(
    phone: Visit, server: LabServer, word: str
) -> None:
    create(server, word, "there")
    page = phone.open(f"/runs?q={word}-nothing&status=failed")

    expect(page.get_by_text(f'No run matches "{word}-nothing"')).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()

    expect(row(page, f"{word} there")).to_be_visible()
    assert page.url.endswith("/runs")


def test_several_runs_are_tagged_annotated_and_archived_at_once(
    phone: Visit, server: LabServer, word: str
) -> None:
    created = create(server, word, "a", "b")
    server.api.patch(f"/runs/{created[0]['id']}", json={"tags": ["mine"], "notes": "Before."})
    page = phone.open(f"/runs?q={word}")
    select = page.get_by_label("Select all on this page")
    bar = page.get_by_role("toolbar")

    select.click()
    bar.get_by_role("button", name="Tags").click()
    expect(
        page.get_by_text("Only some of these runs have these tags, which are kept: mine.")
    ).to_be_visible()
    page.get_by_label("Tags, separated by commas").fill("paper, sweep")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Only runs tagged sweep")).to_have_count(2)
    expect(bar.get_by_text("2 selected")).to_be_visible()
    bar.get_by_role("button", name="Note").click()
    page.get_by_label("Note", exact=True).fill("After.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("After.")).to_have_count(2)
    bar.get_by_role("button", name="Archive", exact=True).click()

    expect(page.get_by_text(f'No run matches "{word}"')).to_be_visible()
    stored = [server.get(run["id"]) for run in created]
    assert [run["tags"] for run in stored] == [["mine", "paper", "sweep"], ["paper", "sweep"]]
    assert [run["notes"] for run in stored] == ["Before.\n\nAfter.", "After."]
    assert all(run["archived"] for run in stored)


def test_an_archived_run_is_restored(visit: Visit, server: LabServer, word: str) -> None:
    [run] = create(server, word, "a")
    server.api.patch(f"/runs/{run['id']}", json={"archived": True})
    page = visit.open(f"/runs?q={word}&archived=true")

    choose_action(page, f"{word} a", "Restore")

    expect(row(page, f"{word} a")).to_have_count(0)
    assert not server.get(run["id"])["archived"]


def test_a_run_is_renamed_from_its_row_and_an_empty_name_is_rejected(
    visit: Visit, server: LabServer, word: str
) -> None:
    create(server, word, "old")
    page = visit.open(f"/runs?q={word}")

    choose_action(page, f"{word} old", "Rename")
    page.get_by_label("Name", exact=True).fill("   ")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_text("name must not be empty.")).to_be_visible()
    page.get_by_label("Name", exact=True).fill(f'{word} "new" <b>')
    page.get_by_role("button", name="Rename").click()

    expect(page.get_by_role("link", name=f'{word} "new" <b>')).to_be_visible()


def test_a_running_run_cannot_be_deleted_and_the_list_shows_why(
    visit: Visit, server: LabServer, word: str
) -> None:
    create(server, word, "resting")
    busy = server.create(name=f"{word} busy", start=True, total_timesteps=5_000_000)
    page = visit.open(f"/runs?q={word}")
    page.get_by_label("Select all on this page").click()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()

    expect(page.get_by_text(re.compile("1 of 2 were not deleted.*Stop it first"))).to_be_visible()
    expect(page.get_by_text(f"{word} resting was deleted.")).to_be_visible()
    server.api.post(f"/runs/{busy['id']}/stop")


def test_seeds_of_a_group_collapse_into_one_row(phone: Visit, server: LabServer, word: str) -> None:
    body = {"env_id": "CartPole-v1", "algorithm": "PPO", "seeds": [1, 2, 3], "name": word}
    server.api.post("/runs", json=body)
    page = phone.open(f"/runs?q={word}")

    expect(page.get_by_text("3 runs", exact=True)).to_be_visible()
    assert run_names(page) == [word]
    expect(page.get_by_text("3 seeds")).to_be_visible()
    page.get_by_role("button", name=f"Expand {word}").click()
    assert run_names(page) == [word, "seed 1", "seed 2", "seed 3"]
    row(page, "seed 2").get_by_role("checkbox").click()
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_label("Select all on this page").click()

    expect(page.get_by_text("3 selected")).to_be_visible()
    expect(row(page, "3 seeds")).to_have_attribute("aria-selected", "true")


def test_numbers_update_in_place_while_a_run_trains(
    visit: Visit, server: LabServer, word: str
) -> None:
    page = visit.open(f"/runs?q={word}")
    expect(page.get_by_text(f'No run matches "{word}"')).to_be_visible()

    run = server.create(name=f"{word} live", start=True, total_timesteps=50_000_000)

    live = row(page, f"{word} live")
    expect(live.get_by_text("running", exact=True)).to_be_visible(timeout=_TIMEOUT_MS)
    live.evaluate("row => { row.dataset.same = 'yes'; }")
    expect(live.get_by_role("img", name=re.compile("Mean reward between"))).to_be_visible(
        timeout=_TIMEOUT_MS
    )
    steps = live.get_by_role("gridcell").nth(7)
    before = steps.inner_text()
    expect(steps).not_to_have_text(before, timeout=_TIMEOUT_MS)
    server.api.post(f"/runs/{run['id']}/stop")
    expect(live.get_by_text("stopped", exact=True)).to_be_visible(timeout=_TIMEOUT_MS)

    assert live.get_attribute("data-same") == "yes"


def test_many_runs_are_paginated(visit: Visit, server: LabServer, word: str) -> None:
    create(server, word, *(f"{number:02d}" for number in range(53)))
    page = visit.open(f"/runs?q={word}&sort=name")
    expect(page.get_by_text("1 to 50 of 53 rows, 53 runs")).to_be_visible()

    page.get_by_role("button", name="Next").click()

    expect(page.get_by_text("51 to 53 of 53 rows, 53 runs")).to_be_visible()
    assert run_names(page) == [f"{word} 50", f"{word} 51", f"{word} 52"]
    assert "page=2" in page.url
    page.get_by_label("Page", exact=False).last.fill("1")
    page.keyboard.press("Enter")
    expect(row(page, f"{word} 00")).to_be_visible()


def test_selected_runs_are_compared_and_downloaded(
    visit: Visit, server: LabServer, word: str
) -> None:
    [run] = create(server, word, "one")
    body = {"env_id": "CartPole-v1", "algorithm": "PPO", "seeds": [1, 2], "name": f"{word} two"}
    group = server.api.post("/runs", json=body).json()["group_id"]
    page = visit.open(f"/runs?q={word}&sort=name")

    with page.expect_download() as download:
        choose_action(page, f"{word} one", "Download")
    assert download.value.suggested_filename.endswith(".rllab.zip")
    page.get_by_label("Select all on this page").click()
    page.get_by_role("link", name="Compare").last.click()

    page.wait_for_url(f"**/compare?runs={run['id']},g:{group}*")
