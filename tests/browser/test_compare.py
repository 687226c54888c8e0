"""Runs beside each other in a real browser."""

import re
import shutil
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from storage.files.clip_files import ClipFiles
from storage.files.lab_folder import LabFolder
from tests.browser.conftest import Visit
from tests.lab_server import LabServer, wait_until
from tests.past_runs import climb, train, train_group

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def groups(server: LabServer) -> tuple[str, str]:
    good = train_group(server, (90, 92, 94, 96, 98), name="Good", learning_rate=0.001)
    bad = train_group(server, (10, 12, 14, 16, 18), name="Bad")
    return f"g:{good}", f"g:{bad}"


@pytest.fixture(scope="module")
def single(server: LabServer) -> str:
    return train(server, climb(50, steps=1_000), name="Single <b>run</b>")


def component(page: Page, what: str) -> Any:
    """Look into the component `c` that holds the points."""
    element = str(page.locator(".lab-curves-box").get_attribute("id")).removeprefix("c")
    return page.evaluate(f"((c) => {what})(getElement({element}))")


def wait_for_lines(page: Page, count: int) -> None:
    expect(page.locator(".lab-curve-names li")).to_have_count(count, timeout=_PATIENCE_MS)


def find(page: Page, name: str) -> None:
    page.get_by_label("Search runs to add").fill(name)
    found = page.get_by_label("Runs to add").get_by_role("button")
    expect(found).to_have_count(1)
    expect(found).to_contain_text(name)
    found.click()


def asked(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_two_groups_are_drawn_with_bands_and_judged_in_a_sentence(
    visit: Visit, groups: tuple[str, str]
) -> None:
    page = visit.open(f"/compare?runs={','.join(groups)}")

    wait_for_lines(page, 2)
    expect(page.get_by_text("Good, 5 seeds beats Bad, 5 seeds with")).to_be_visible()
    differences = page.get_by_role("region", name="What differs")
    expect(differences.get_by_role("row")).to_have_count(2)
    expect(differences.get_by_text("hyperparameters.learning_rate")).to_be_visible()
    numbers = page.get_by_role("region", name="Final numbers")
    expect(numbers.get_by_text(re.compile(r"^94\.0 \(9.* to 9.*\)$")).first).to_be_visible()
    assert component(page, "Object.values(c.series).every((one) => one.low.length > 50)")


def test_the_address_opens_the_same_view_again(
    visit: Visit, groups: tuple[str, str], single: str
) -> None:
    page = visit.open(f"/compare?runs={groups[0]},{groups[1]},{single}")
    wait_for_lines(page, 3)
    page.get_by_label("x-axis").select_option("episode")
    page.get_by_label("Log y").check()
    page.get_by_label("Add a chart").select_option("reward")
    wait_for_lines(page, 6)
    remove = page.get_by_role("button", name="Remove: Good, 5 seeds")
    button = remove.element_handle()
    reference = page.get_by_role("button", name="Reference: Bad, 5 seeds")
    reference.click()
    expect(reference).to_have_attribute("aria-pressed", "true")
    # One that is drawn anew would lose a press that is on its way.
    assert button.evaluate("(element) => element.isConnected")
    remove.click()
    wait_for_lines(page, 4)
    wait_until(lambda: asked(page).get("colours") == ["1,2"])
    colours = component(page, "c.entries.map((one) => one.colour)")

    again = visit.open(page.url.removeprefix(visit.server.url))

    wait_for_lines(again, 4)
    assert asked(again)["runs"] == [f"{groups[1]},{single}"]
    assert component(again, "[c.axis, c.log, c.chosen]") == [
        "episode",
        True,
        ["mean_reward", "reward"],
    ]
    # Who stays keeps its colour.
    assert component(again, "c.entries.map((one) => one.colour)") == colours == [1, 2]
    pressed = again.get_by_role("button", name="Reference: Bad, 5 seeds")
    expect(pressed).to_have_attribute("aria-pressed", "true")


def test_runs_are_found_added_unfolded_and_folded(
    visit: Visit, groups: tuple[str, str], single: str
) -> None:
    page = visit.open("/compare")
    expect(page.get_by_text("Nothing to compare yet")).to_be_visible()

    find(page, "Bad")
    wait_for_lines(page, 1)
    expect(page.get_by_text("One run alone")).to_be_visible()
    find(page, "Single <b>run</b>")
    wait_for_lines(page, 2)
    page.get_by_role("button", name="Unfold: Bad, 5 seeds").click()
    wait_for_lines(page, 6)
    page.get_by_role("button", name="Fold seeds").click()
    wait_for_lines(page, 2)

    assert asked(page)["runs"] == [f"{groups[1]},{single}"]


def test_what_is_gone_and_what_can_not_be_compared_is_said(
    visit: Visit, server: LabServer, single: str
) -> None:
    gone = train(server, climb(20), name="Soon gone")
    other = train(server, climb(-80), env_id="Acrobot-v1", name="Elsewhere")
    page = visit.open(f"/compare?runs={single},{other},{gone},nothing")
    wait_for_lines(page, 3)
    expect(page.get_by_text("There is no run 'nothing'.")).to_be_visible()
    expect(page.get_by_text("Scores of different environments can't be compared")).to_be_visible()

    assert server.api.delete(f"/runs/{gone}").status_code == 204

    expect(page.get_by_text(f"There is no run '{gone}'.")).to_be_visible()
    wait_for_lines(page, 2)


def test_charts_and_tables_can_be_taken_away(visit: Visit, groups: tuple[str, str]) -> None:
    page = visit.open(f"/compare?runs={','.join(groups)}")
    wait_for_lines(page, 2)

    with page.expect_download() as picture:
        page.get_by_role("button", name="Mean reward as PNG").click()
    with page.expect_download() as curves:
        page.get_by_role("link", name="Mean reward as CSV").click()
    with page.expect_download() as numbers:
        page.get_by_role("link", name="Final numbers as CSV").click()

    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    assert curves.value.path().read_text().startswith("key,name,timesteps,mean_reward,low,high")
    assert "Good, 5 seeds" in numbers.value.path().read_text()


def test_two_keys_lead_to_the_page(visit: Visit) -> None:
    page = visit.open("/runs")
    page.wait_for_load_state("networkidle")

    page.keyboard.press("g")
    page.keyboard.press("c")

    page.wait_for_url("**/compare")


def test_a_run_is_branched_from_a_checkpoint_and_the_tree_says_what_changed(
    visit: Visit, server: LabServer
) -> None:
    run = server.train(total_timesteps=2_000, name="Trunk")
    page = visit.open(f"/runs/{run['id']}")

    page.get_by_role("button", name="Branch Trunk").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("learning_rate").fill("0.01")
    dialog.get_by_label("Steps to train").fill("many")
    dialog.get_by_role("button", name="Train the branch").click()
    expect(dialog.get_by_role("alert")).to_contain_text("total_timesteps")
    dialog.get_by_label("Steps to train").fill("2,048")
    dialog.get_by_role("button", name="Train the branch").click()

    page.wait_for_url(lambda url: "/runs/" in url and run["id"] not in url)
    lineage = page.get_by_role("region", name="Lineage")
    expect(lineage.get_by_text("learning_rate 0.0003 to 0.01")).to_be_visible()
    expect(lineage.get_by_role("link", name="Trunk", exact=True)).to_be_visible()
    child = page.url.rpartition("/")[2]
    assert server.get(child)["config"]["init_from"].startswith(f"{run['id']}@")
    server.wait_for(child, "completed")


@pytest.mark.timeout(300)
def test_videos_play_together_on_one_seed_and_follow_the_curve(
    visit: Visit, server: LabServer
) -> None:
    runs = [server.train(total_timesteps=1_024, n_envs=1, name=name)["id"] for name in "AB"]
    page = visit.open(f"/compare?runs={','.join(runs)}")
    videos = page.locator(".lab-beside video")

    page.get_by_role("button", name="Film all on one seed").click()
    _wait_for_films(page, server, runs)
    page.get_by_label("Time in the videos").fill("0.2")
    times = "[...document.querySelectorAll('.lab-beside video')].map((one) => one.currentTime)"
    wait_until(lambda: page.evaluate(times) == pytest.approx([0.2, 0.2], abs=0.05))
    page.get_by_role("button", name="Play all").click()
    expect(page.get_by_role("button", name="Pause all")).to_be_visible()

    for run in runs:
        _add_clips(server, run, (256, 1_024))
    page.reload()
    step = page.get_by_label("Step of the training")
    expect(step).to_be_visible(timeout=_PATIENCE_MS)
    plot = page.locator(".lab-curve-plot").first
    plot.hover(position={"x": 140, "y": 100})
    expect(videos.first).to_have_attribute("src", f"/api/runs/{runs[0]}/clips/256")
    expect(videos.last).to_have_attribute("src", f"/api/runs/{runs[1]}/clips/256")
    step.focus()
    step.press("End")
    expect(videos.last).to_have_attribute("src", f"/api/runs/{runs[1]}/clips/1024")


def _wait_for_films(page: Page, server: LabServer, runs: list[str]) -> None:
    expect(page.locator(".lab-beside video")).to_have_count(2, timeout=120_000)
    wait_until(lambda: all(_filmed(server, run) for run in runs), within=120)
    if page.get_by_label("Which videos").count():
        page.get_by_label("Which videos").select_option("tests")
    ready = "[...document.querySelectorAll('.lab-beside video')].every((one) => one.readyState > 1)"
    page.wait_for_function(ready)


def _filmed(server: LabServer, run_id: str) -> bool:
    found = server.api.get(f"/runs/{run_id}/evaluations").json()["items"]
    return bool(found) and found[0]["video_url"] is not None


def _add_clips(server: LabServer, run_id: str, steps: tuple[int, ...]) -> None:
    """Put the test's video where clips are, in place of whatever the time machine made."""
    (test, *_) = server.api.get(f"/runs/{run_id}/evaluations").json()["items"]
    film = server.api.get(f"/runs/{run_id}/evaluations/{test['id']}/video").content
    files = ClipFiles(LabFolder(server.folder).run(run_id).clips_path)
    shutil.rmtree(files.path, ignore_errors=True)
    facts = {"score": 9.0, "size": len(film), "width": 600, "height": 400, "fps": 50.0}
    for step in steps:
        files.add(step, b"policy")
        more = {"timesteps": step, "seconds": 1.0, "created_at": "2026-01-01T00:00:00Z"}
        assert files.save(step, film, {**facts, **more}, policy=b"policy")
