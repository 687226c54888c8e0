"""The comparison page in a real browser."""

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

_TIMEOUT_MS = 60_000


@pytest.fixture(scope="module")
def groups(server: LabServer) -> tuple[str, str]:
    good = train_group(server, (90, 92, 94, 96, 98), name="Good", learning_rate=0.001)
    bad = train_group(server, (10, 12, 14, 16, 18), name="Bad")
    return f"g:{good}", f"g:{bad}"


@pytest.fixture(scope="module")
def single(server: LabServer) -> str:
    return train(server, climb(50, steps=1_000), name="Single <b>run</b>")


@pytest.fixture(scope="module")
def several(server: LabServer) -> list[str]:
    """Two methods on two environments."""
    tasks = {"CartPole-v1": (100, 380), "MountainCar-v0": (-180, -130)}
    found = []
    for number, name in enumerate(("first", "second")):
        for env_id, ends in tasks.items():
            scores = [ends[number] + 4 * seed for seed in range(5)]
            found.append(f"g:{train_group(server, scores, env_id=env_id, name=name)}")
    return found


def evaluate(page: Page, expression: str) -> Any:
    """Evaluate JavaScript in which `c` is the component that holds the points."""
    element = str(page.locator(".lab-curves-box").get_attribute("id")).removeprefix("c")
    return page.evaluate(f"((c) => {expression})(getElement({element}))")


def wait_for_lines(page: Page, count: int) -> None:
    expect(page.locator(".lab-curve-names li")).to_have_count(count, timeout=_TIMEOUT_MS)


def add_run(page: Page, name: str) -> None:
    page.get_by_label("Search runs to add").fill(name)
    result = page.get_by_label("Runs to add").get_by_role("button")
    expect(result).to_have_count(1)
    expect(result).to_contain_text(name)
    result.click()


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_two_groups_are_drawn_with_bands_and_compared_in_a_sentence(
    visit: Visit, groups: tuple[str, str]
) -> None:
    page = visit.open(f"/compare?runs={','.join(groups)}")

    wait_for_lines(page, 2)
    expect(page.get_by_text("Good, 5 seeds beats Bad, 5 seeds with")).to_be_visible()
    differences = page.get_by_role("region", name="Settings that differ")
    expect(differences.get_by_role("row")).to_have_count(2)
    expect(differences.get_by_text("hyperparameters.learning_rate")).to_be_visible()
    numbers = page.get_by_role("region", name="Results")
    expect(numbers.get_by_text(re.compile(r"^94\.0 \(9.* to 9.*\)$")).first).to_be_visible()
    assert evaluate(page, "Object.values(c.series).every((one) => one.low.length > 50)")


def test_the_url_restores_the_same_view(visit: Visit, groups: tuple[str, str], single: str) -> None:
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
    # A button that is re-rendered would lose a click that is being processed.
    assert button.evaluate("(element) => element.isConnected")
    remove.click()
    wait_for_lines(page, 4)
    wait_until(lambda: query(page).get("colours") == ["1,2"])
    colours = evaluate(page, "c.entries.map((one) => one.colour)")

    again = visit.open(page.url.removeprefix(visit.server.url))

    wait_for_lines(again, 4)
    assert query(again)["runs"] == [f"{groups[1]},{single}"]
    assert evaluate(again, "[c.axis, c.log, c.chosen]") == [
        "episode",
        True,
        ["mean_reward", "reward"],
    ]
    # The remaining entries keep their colours.
    assert evaluate(again, "c.entries.map((one) => one.colour)") == colours == [1, 2]
    pressed = again.get_by_role("button", name="Reference: Bad, 5 seeds")
    expect(pressed).to_have_attribute("aria-pressed", "true")


def test_runs_are_searched_added_expanded_and_grouped(
    visit: Visit, groups: tuple[str, str], single: str
) -> None:
    page = visit.open("/compare")
    expect(page.get_by_text("Nothing to compare yet")).to_be_visible()

    add_run(page, "Bad")
    wait_for_lines(page, 1)
    expect(page.get_by_text("Only one run")).to_be_visible()
    add_run(page, "Single <b>run</b>")
    wait_for_lines(page, 2)
    page.get_by_role("button", name="Expand: Bad, 5 seeds").click()
    wait_for_lines(page, 6)
    page.get_by_role("button", name="Group seeds").click()
    wait_for_lines(page, 2)

    assert query(page)["runs"] == [f"{groups[1]},{single}"]


def test_missing_and_incomparable_runs_are_reported(
    visit: Visit, server: LabServer, single: str
) -> None:
    deleted = train(server, climb(20), name="Soon gone")
    other = train(server, climb(-80), env_id="Acrobot-v1", name="Elsewhere")
    page = visit.open(f"/compare?runs={single},{other},{deleted},nothing")
    wait_for_lines(page, 3)
    expect(page.get_by_text("There is no run 'nothing'.")).to_be_visible()
    expect(page.get_by_text("Scores of different environments can't be compared")).to_be_visible()

    assert server.api.delete(f"/runs/{deleted}").status_code == 204

    expect(page.get_by_text(f"There is no run '{deleted}'.")).to_be_visible()
    wait_for_lines(page, 2)


@pytest.mark.parametrize("width", [1440, 390])
def test_methods_are_compared_over_several_environments(
    visit: Visit, several: list[str], width: int
) -> None:
    page = visit.open(f"/compare?runs={','.join(several)}")
    page.set_viewport_size({"width": width, "height": 900})

    across = page.get_by_role("region", name="Over several environments")
    expect(across.get_by_text("PPO, first").first).to_be_visible()
    expect(across.get_by_text(re.compile(r"^0\.\d\d \(.* to .*\)$")).first).to_be_visible()
    expect(across.get_by_text("MountainCar-v0", exact=True).first).to_be_visible()
    chart = across.get_by_role("img", name="Performance profiles")
    expect(chart.locator("canvas")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_one_environment_has_no_panel_for_several(visit: Visit, groups: tuple[str, str]) -> None:
    page = visit.open(f"/compare?runs={','.join(groups)}")

    wait_for_lines(page, 2)
    expect(page.get_by_role("region", name="Over several environments")).to_be_hidden()


def test_charts_and_tables_can_be_downloaded(visit: Visit, groups: tuple[str, str]) -> None:
    page = visit.open(f"/compare?runs={','.join(groups)}")
    wait_for_lines(page, 2)

    with page.expect_download() as picture:
        page.get_by_role("button", name="Mean reward as PNG").click()
    with page.expect_download() as curves:
        page.get_by_role("link", name="Mean reward as CSV").click()
    with page.expect_download() as numbers:
        page.get_by_role("link", name="Results as CSV").click()

    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    assert curves.value.path().read_text().startswith("key,name,timesteps,mean_reward,low,high")
    assert "Good, 5 seeds" in numbers.value.path().read_text()


def test_a_sequence_of_two_keys_opens_the_page(visit: Visit) -> None:
    page = visit.open("/runs")
    page.wait_for_load_state("networkidle")

    page.keyboard.press("g")
    page.keyboard.press("c")

    page.wait_for_url("**/compare")


def test_a_run_is_branched_from_a_checkpoint_and_the_lineage_shows_the_changes(
    visit: Visit, server: LabServer
) -> None:
    run = server.train(total_timesteps=2_000, name="Trunk")
    page = visit.open(f"/runs/{run['id']}")

    page.get_by_role("button", name="Branch Trunk").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("learning_rate").fill("0.01")
    dialog.get_by_label("Total timesteps", exact=True).fill("many")
    dialog.get_by_role("button", name="Train the branch").click()
    expect(dialog.get_by_role("alert")).to_contain_text("total_timesteps")
    dialog.get_by_label("Total timesteps", exact=True).fill("2,048")
    dialog.get_by_role("button", name="Train the branch").click()

    page.wait_for_url(lambda url: "/runs/" in url and run["id"] not in url)
    lineage = page.get_by_role("region", name="Lineage")
    expect(lineage.get_by_text("learning_rate 0.0003 to 0.01")).to_be_visible()
    expect(lineage.get_by_role("link", name="Trunk", exact=True)).to_be_visible()
    child = page.url.rpartition("/")[2]
    assert server.get(child)["config"]["init_from"].startswith(f"{run['id']}@")
    server.wait_for(child, "completed")


@pytest.mark.timeout(300)
def test_videos_of_one_seed_play_in_sync_and_follow_the_curve(
    visit: Visit, server: LabServer
) -> None:
    runs = [server.train(total_timesteps=1_024, n_envs=1, name=name)["id"] for name in "AB"]
    page = visit.open(f"/compare?runs={','.join(runs)}")
    videos = page.locator(".lab-synced video")

    page.get_by_role("button", name="Record all on one seed").click()
    _wait_for_videos(page, server, runs)
    page.get_by_label("Playback position").fill("0.2")
    times = "[...document.querySelectorAll('.lab-synced video')].map((one) => one.currentTime)"
    wait_until(lambda: page.evaluate(times) == pytest.approx([0.2, 0.2], abs=0.05))
    page.get_by_role("button", name="Play all").click()
    expect(page.get_by_role("button", name="Pause all")).to_be_visible()

    for run in runs:
        _add_clips(server, run, (256, 1_024))
    page.reload()
    step = page.get_by_label("Training step")
    expect(step).to_be_visible(timeout=_TIMEOUT_MS)
    plot = page.locator(".lab-curve-plot").first
    plot.hover(position={"x": 140, "y": 100})
    expect(videos.first).to_have_attribute("src", f"/api/runs/{runs[0]}/clips/256")
    expect(videos.last).to_have_attribute("src", f"/api/runs/{runs[1]}/clips/256")
    step.focus()
    step.press("End")
    expect(videos.last).to_have_attribute("src", f"/api/runs/{runs[1]}/clips/1024")


def _wait_for_videos(page: Page, server: LabServer, runs: list[str]) -> None:
    expect(page.locator(".lab-synced video")).to_have_count(2, timeout=120_000)
    wait_until(lambda: all(_has_video(server, run) for run in runs), within=120)
    if page.get_by_label("Which videos").count():
        page.get_by_label("Which videos").select_option("evaluations")
    ready = "[...document.querySelectorAll('.lab-synced video')].every((one) => one.readyState > 1)"
    page.wait_for_function(ready)


def _has_video(server: LabServer, run_id: str) -> bool:
    evaluations = server.api.get(f"/runs/{run_id}/evaluations").json()["items"]
    return bool(evaluations) and evaluations[0]["video_url"] is not None


def _add_clips(server: LabServer, run_id: str, steps: tuple[int, ...]) -> None:
    """Store the video of the evaluation as clips, in place of those of the time machine."""
    (evaluation, *_) = server.api.get(f"/runs/{run_id}/evaluations").json()["items"]
    video = server.api.get(f"/runs/{run_id}/evaluations/{evaluation['id']}/video").content
    files = ClipFiles(LabFolder(server.folder).run(run_id).clips_path)
    shutil.rmtree(files.path, ignore_errors=True)
    details = {"score": 9.0, "size": len(video), "width": 600, "height": 400, "fps": 50.0}
    for step in steps:
        files.add(step, b"policy")
        more_details = {"timesteps": step, "seconds": 1.0, "created_at": "2026-01-01T00:00:00Z"}
        assert files.save(step, video, {**details, **more_details}, policy=b"policy")
