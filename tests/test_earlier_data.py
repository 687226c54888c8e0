"""Data of version 0.1 (`tests/fixtures/make.py`) can be listed, shown, resumed and imported."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from stable_baselines3 import PPO

from tests.conftest import free_port
from tests.exact_runs import episodes_of, lines_of, weights_of
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("earlier") / "lab"
    with zipfile.ZipFile(FIXTURES / "lab-0.1.zip") as packed:
        packed.extractall(folder)
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1") as opened:
        yield opened


@pytest.fixture(scope="module")
def runs(lab: LabServer) -> dict[str, dict[str, Any]]:
    """The runs outside of groups, by name."""
    items = lab.api.get("/runs").json()["items"]
    return {run["name"]: run for run in items if run["group_id"] is None}


def test_runs_are_listed_and_shown(lab: LabServer) -> None:
    items = lab.api.get("/runs").json()["items"]

    assert sorted((run["name"], run["status"]) for run in items) == [
        ("Group, seed 1", "completed"),
        ("Group, seed 2", "completed"),
        ("Stopped", "stopped"),
        ("Whole", "completed"),
        ("With a replay buffer", "stopped"),
    ]
    for run in items:
        assert httpx.get(f"{lab.url}/runs/{run['id']}").status_code == 200
        for part in ("metrics", "events", "artifacts", "insights", "evaluations"):
            assert lab.api.get(f"/runs/{run['id']}/{part}").status_code == 200, part
        assert lines_of(lab, run["id"])
    (group,) = {run["group_id"] for run in items} - {None}
    assert len(lab.api.get(f"/groups/{group}").json()["runs"]) == 2


def test_an_evaluation_and_its_video_are_available(
    lab: LabServer, runs: dict[str, dict[str, Any]]
) -> None:
    path = f"/runs/{runs['Whole']['id']}/evaluations"

    (evaluation,) = lab.api.get(path).json()["items"]

    assert (evaluation["status"], len(evaluation["returns"])) == ("completed", 2)
    assert lab.api.get(f"{path}/{evaluation['id']}/video").content[4:8] == b"ftyp"


def test_a_stopped_and_resumed_run_is_identical_to_an_uninterrupted_one(
    lab: LabServer, runs: dict[str, dict[str, Any]]
) -> None:
    """Bit-identical only on the kind of processor that computed the first half."""
    whole, stopped = runs["Whole"]["id"], runs["Stopped"]["id"]

    assert lab.api.post(f"/runs/{stopped}/resume").status_code == 202
    resumed = lab.wait_for(stopped, "completed")

    assert resumed["timesteps"] == 1_024
    ours, theirs = weights_of(lab, stopped, "PPO"), weights_of(lab, whole, "PPO")
    assert all(np.allclose(ours[name], theirs[name], atol=1e-4) for name in ours)
    assert [one[:2] for one in episodes_of(lab, stopped)] == [
        one[:2] for one in episodes_of(lab, whole)
    ]


def test_a_run_is_resumed_with_its_replay_buffer(
    lab: LabServer, runs: dict[str, dict[str, Any]]
) -> None:
    run = runs["With a replay buffer"]["id"]
    budget = {"total_timesteps": runs["With a replay buffer"]["timesteps"] + 50}
    assert lab.api.patch(f"/runs/{run}", json=budget).status_code == 200

    assert lab.api.post(f"/runs/{run}/resume").status_code == 202
    lab.wait_for(run, "completed")

    assert not any("replay buffer was too large" in text for text in lab.messages(run))


def test_a_bundle_is_imported(lab: LabServer, runs: dict[str, dict[str, Any]]) -> None:
    bundle = (FIXTURES / "bundle-0.1.zip").read_bytes()

    answer = lab.api.post(
        "/runs/import", content=bundle, headers={"Content-Type": "application/zip"}
    )

    assert answer.status_code == 201, answer.text
    run = answer.json()["id"]
    assert episodes_of(lab, run) == episodes_of(lab, runs["Whole"]["id"])
    model = lab.api.get(f"/runs/{run}/artifacts/model.zip").content
    assert PPO.load(io.BytesIO(model)).num_timesteps == 1_024
