"""Versions of a run, and its export and import, in a real browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 60_000


def test_a_version_is_pinned_and_the_whole_run_exported_and_imported(
    visit: Visit, server: LabServer, tmp_path: Path
) -> None:
    run = server.train(total_timesteps=600, hyperparameters={"n_steps": 64, "net_arch": [8]})
    page = visit.open(f"/runs/{run['id']}")
    versions = page.get_by_role("region", name="Versions")
    expect(versions.get_by_text("Final model")).to_be_visible(timeout=_TIMEOUT_MS)
    versions.get_by_role("button", name=re.compile("^Pin Checkpoint")).first.click()
    expect(versions.get_by_role("button", name=re.compile("^Unpin Checkpoint"))).to_be_visible()

    versions.get_by_role("button", name="Push to Hub").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("# PPO on CartPole-v1")).to_be_visible(timeout=_TIMEOUT_MS)
    dialog.get_by_role("button", name="Push", exact=True).click()
    # Without accounts there is no profile that could hold a token.
    error = "A Hugging Face token is needed. Enter one above."
    expect(dialog.get_by_text(error, exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    with page.expect_download() as download:
        versions.get_by_role("link", name="Whole run").click()
    bundle = tmp_path / download.value.suggested_filename
    download.value.save_as(bundle)
    runs = visit.open("/runs")
    runs.locator("input[type=file]").set_input_files(bundle)

    runs.wait_for_url(re.compile(r"/runs/[0-9a-f]{32}$"), timeout=_TIMEOUT_MS)
    assert run["id"] not in runs.url
    expect(runs.get_by_text("Imported from a bundle of")).to_be_visible(timeout=_TIMEOUT_MS)
    expect(runs.get_by_text(re.compile("Checkpoint .* pinned"))).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390])
def test_the_version_to_publish_is_chosen_in_the_dialog(
    visit: Visit, server: LabServer, width: int
) -> None:
    run = server.train(
        total_timesteps=1_024,
        evaluate_every=500,
        hyperparameters={"n_steps": 64, "net_arch": [8]},
    )
    page = visit.open(f"/runs/{run['id']}")
    page.set_viewport_size({"width": width, "height": 900})
    versions = page.get_by_role("region", name="Versions")
    versions.get_by_role("button", name="Push to Hub").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("the final policy of the run")).to_be_visible(timeout=_TIMEOUT_MS)
    expect(dialog.get_by_text("No evaluation of this policy exists.")).to_be_visible()

    dialog.get_by_role("combobox", name="Version").click()
    page.get_by_role("option", name=re.compile("^Best model")).click()

    expect(dialog.get_by_text(re.compile("chosen as the best of"))).to_be_visible()
    assert dialog.evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")
    dialog.get_by_role("button", name="Cancel").click()


def test_a_hub_model_without_an_owner_in_its_name_is_rejected(visit: Visit) -> None:
    page = visit.open("/runs")

    page.get_by_role("button", name="Pull from Hub").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Model, as owner/name").fill("cartpole")
    dialog.get_by_role("button", name="Pull", exact=True).click()

    expect(dialog.get_by_text("repo_id must be owner/name")).to_be_visible(timeout=_TIMEOUT_MS)


def test_an_invalid_bundle_is_rejected_with_the_reason(visit: Visit, tmp_path: Path) -> None:
    invalid = tmp_path / "holiday.zip"
    invalid.write_bytes(b"no zip at all, but long enough to look like one")
    page = visit.open("/runs")

    page.locator("input[type=file]").set_input_files(invalid)

    expect(page.get_by_text("This is not a zip file")).to_be_visible(timeout=_TIMEOUT_MS)
    visit.problems[:] = [text for text in visit.problems if "422" not in text]
