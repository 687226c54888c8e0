"""Versions of a run, and a run that goes out as a file and comes in again, in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_PATIENCE_MS = 60_000


def test_a_version_is_pinned_and_the_whole_run_goes_out_and_comes_in(
    visit: Visit, server: LabServer, tmp_path: Path
) -> None:
    run = server.train(total_timesteps=600, hyperparameters={"n_steps": 64, "net_arch": [8]})
    page = visit.open(f"/runs/{run['id']}")
    versions = page.get_by_role("region", name="Versions")
    expect(versions.get_by_text("Final model")).to_be_visible(timeout=_PATIENCE_MS)
    versions.get_by_role("button", name=re.compile("^Pin Checkpoint")).first.click()
    expect(versions.get_by_role("button", name=re.compile("^Unpin Checkpoint"))).to_be_visible()

    versions.get_by_role("button", name="Push to Hub").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("# PPO on CartPole-v1")).to_be_visible(timeout=_PATIENCE_MS)
    dialog.get_by_role("button", name="Push", exact=True).click()
    # There are no accounts here, so no profile that could have one.
    needed = "A Hugging Face token is needed. Type one above."
    expect(dialog.get_by_text(needed, exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    with page.expect_download() as download:
        versions.get_by_role("link", name="Whole run").click()
    bundle = tmp_path / download.value.suggested_filename
    download.value.save_as(bundle)
    runs = visit.open("/runs")
    runs.locator("input[type=file]").set_input_files(bundle)

    runs.wait_for_url(re.compile(r"/runs/[0-9a-f]{32}$"), timeout=_PATIENCE_MS)
    assert run["id"] not in runs.url
    expect(runs.get_by_text("Imported from a bundle of")).to_be_visible(timeout=_PATIENCE_MS)
    expect(runs.get_by_text(re.compile("Checkpoint .* pinned"))).to_be_visible()


def test_a_model_of_the_hub_is_asked_for_by_its_name(visit: Visit) -> None:
    page = visit.open("/runs")

    page.get_by_role("button", name="Pull from Hub").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Model, as owner/name").fill("cartpole")
    dialog.get_by_role("button", name="Pull", exact=True).click()

    expect(dialog.get_by_text("repo_id must be owner/name")).to_be_visible(timeout=_PATIENCE_MS)


def test_a_bad_bundle_says_why_beside_the_button(visit: Visit, tmp_path: Path) -> None:
    bad = tmp_path / "holiday.zip"
    bad.write_bytes(b"no zip at all, but long enough to look like one")
    page = visit.open("/runs")

    page.locator("input[type=file]").set_input_files(bad)

    expect(page.get_by_text("This is no zip file")).to_be_visible(timeout=_PATIENCE_MS)
    visit.problems[:] = [one for one in visit.problems if "422" not in one]
