"""What a card says belongs to the uploaded policy; the best and pinned ones can be uploaded."""

import io
import json
import pickle
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from stable_baselines3 import PPO

from tests.app.sharing.fake_hub import FakeHub
from tests.conftest import free_port
from tests.lab_server import LabServer, wait_until

pytestmark = pytest.mark.slow

TOKEN = "hf_aVerySecretToken0123456789"
SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 1, "net_arch": [8]}
OPTIONS: dict[str, Any] = {
    "n_envs": 1,
    "total_timesteps": 2_048,
    "evaluate_every": 500,
    "hyperparameters": SMALL,
    "wrappers": {"normalize_observation": True, "sticky_actions": 0.2},
    "name": "my | run",
}


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    with FakeHub(TOKEN) as fake_hub:
        yield fake_hub


@pytest.fixture(scope="module")
def lab(hub: FakeHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("published-versions")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", HF_ENDPOINT=hub.url) as server:
        yield server


@pytest.fixture(scope="module")
def run(lab: LabServer) -> dict[str, Any]:
    run = lab.train(**OPTIONS)
    assert run["status"] == "completed", run["error"]
    return run


@pytest.fixture(scope="module")
def versions(lab: LabServer, run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = lab.api.get(f"/runs/{run['id']}/artifacts").json()["items"]
    checkpoints = [one for one in found if one["kind"] == "checkpoint"]
    by_kind = {one["kind"]: one for one in found}
    steps = {one["timesteps"] for one in found if one["kind"] != "checkpoint"}
    return by_kind | {"checkpoint": next(c for c in checkpoints if c["timesteps"] not in steps)}


def preview(lab: LabServer, run: dict[str, Any], checkpoint: object = None) -> tuple[str, Any]:
    options = {} if checkpoint is None else {"checkpoint": checkpoint}
    path = f"/runs/{run['id']}/publish/preview"
    answer = lab.api.get(path, params={"repo_id": "ada/cart", **options})
    assert answer.status_code == 200, answer.text
    return answer.json()["card"], [one["name"] for one in answer.json()["files"]]


def evaluate(lab: LabServer, run: dict[str, Any], **options: Any) -> dict[str, Any]:
    path = f"/runs/{run['id']}/evaluations"
    test = lab.api.post(path, json={"episodes": 3, **options}).json()
    wait_until(
        lambda: lab.api.get(f"{path}/{test['id']}").json()["status"] == "completed", within=60
    )
    found: dict[str, Any] = lab.api.get(f"{path}/{test['id']}").json()
    return found


def test_a_card_has_no_results_of_another_policy(
    lab: LabServer, run: dict[str, Any], versions: dict[str, dict[str, Any]]
) -> None:
    evaluate(lab, run, checkpoint=versions["checkpoint"]["timesteps"], record=True)
    evaluate(lab, run, checkpoint="best")

    card, files = preview(lab, run)

    assert "No evaluation of this policy exists." in card
    latest = lab.api.get(f"/runs/{run['id']}").json()["latest"]
    assert f"was {latest['mean_reward']:,.2f}. That is a training mean" in card
    assert "model-index" not in card
    assert not {"results.json", "replay.mp4"} & set(files)


def test_a_card_says_how_its_results_were_measured(lab: LabServer, run: dict[str, Any]) -> None:
    test = evaluate(lab, run, seed=2_000_000, deterministic=False, record=True)

    # A robustness test is of another task, so it doesn't replace the results.
    evaluate(lab, run, disturbances=True)

    card, files = preview(lab, run)

    metadata = yaml.safe_load(card.split("---\n")[1])
    metric = metadata["model-index"][0]["results"][0]["metrics"][0]["value"]
    returns = test["returns"]
    mean = sum(returns) / len(returns)
    std = (sum((one - mean) ** 2 for one in returns) / len(returns)) ** 0.5
    assert metric == f"{mean:.2f} +/- {std:.2f}"
    assert {"results.json", "replay.mp4"} <= set(files)
    assert f"the uploaded policy (step {run['timesteps']:,}) with sampled actions" in card
    assert "the seeds 2000000 to 2000002 (reserved for tests)" in card
    assert "These disturbances of training were off: sticky_actions." in card
    for line in (
        "final policy of the run `my / run`",
        "its fast engine",
        "| `wrappers.sticky_actions` | `0.2` |",
        '| `engine` | `"fast"` |',
        "| `version of Stable-Baselines3` | 2.",
    ):
        assert line in card, line


def test_the_best_policy_is_published_with_the_effect_of_its_selection(
    lab: LabServer, hub: FakeHub, run: dict[str, Any], versions: dict[str, dict[str, Any]]
) -> None:
    lines = lab.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    means = [one["eval_reward"] for one in lines if one.get("eval_reward") is not None]

    publish(lab, run, checkpoint="best")

    files = hub.repos["ada/cart"].files
    card = files["README.md"].decode()
    assert f"chosen as the best of {len(means)} periodic evaluations" in card
    assert f"its mean return of {max(means):,.2f} was the best" in card
    assert "overstates" in card
    model = PPO.load(io.BytesIO(files["ppo-CartPole-v1.zip"]))
    assert model.num_timesteps == versions["best"]["timesteps"]
    results = json.loads(files["results.json"])
    assert (results["checkpoint"], results["timesteps"]) == ("best", model.num_timesteps)
    with zipfile.ZipFile(io.BytesIO(files["ppo-CartPole-v1.zip"])) as archive:
        assert "policy.pth" in archive.namelist()
    assert files["vec_normalize.pkl"] == artifact(lab, run, "best-vecnormalize.pkl")


def test_a_pinned_checkpoint_is_published_with_its_normalization(
    lab: LabServer, hub: FakeHub, run: dict[str, Any], versions: dict[str, dict[str, Any]]
) -> None:
    name, step = versions["checkpoint"]["name"], versions["checkpoint"]["timesteps"]
    path = f"/runs/{run['id']}/publish"
    refused = lab.api.get(f"{path}/preview", params={"checkpoint": str(step)})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "checkpoint")
    assert "Pin it first" in refused.json()["error"]["message"]
    lab.api.patch(f"/runs/{run['id']}/artifacts/{name}", json={"pinned": True})

    publication = publish(lab, run, checkpoint=name)

    assert publication["checkpoint"] == step
    files = hub.repos["ada/cart"].files
    assert f"the checkpoint of step {step:,} of the run" in files["README.md"].decode()
    model = PPO.load(io.BytesIO(files["ppo-CartPole-v1.zip"]))
    normalization = pickle.loads(files["vec_normalize.pkl"])
    assert model.num_timesteps == step
    # One observation per step, and the first one of the environment.
    assert normalization.obs_rms.count == pytest.approx(step + 1, abs=2)


def test_a_version_that_does_not_exist_is_refused(lab: LabServer, run: dict[str, Any]) -> None:
    path = f"/runs/{run['id']}/publish/preview"

    unknown = lab.api.get(path, params={"checkpoint": "7"}).json()["error"]
    invalid = lab.api.get(path, params={"checkpoint": "worst"}).json()["error"]

    assert "has no version 7 to publish. It has: the final model, best" in unknown["message"]
    assert "must be best or the step of a pinned checkpoint" in invalid["message"]
    assert unknown["field"] == invalid["field"] == "checkpoint"


def publish(lab: LabServer, run: dict[str, Any], **options: Any) -> dict[str, Any]:
    body = {"repo_id": "ada/cart", "token": TOKEN, "update": True, **options}
    answer = lab.api.post(f"/runs/{run['id']}/publish", json=body, timeout=120)
    assert answer.status_code == 202, answer.text
    path = f"/runs/{run['id']}/publish"
    wait_until(lambda: lab.api.get(path).json()["status"] in ("done", "failed"), within=90)
    publication: dict[str, Any] = lab.api.get(path).json()
    assert publication["status"] == "done", publication
    return publication


def artifact(lab: LabServer, run: dict[str, Any], name: str) -> bytes:
    content: bytes = lab.api.get(f"/runs/{run['id']}/artifacts/{name}").content
    return content


def test_a_checkpoint_without_a_readable_model_is_refused_with_the_reason(
    lab: LabServer, run: dict[str, Any], versions: dict[str, dict[str, Any]]
) -> None:
    name, step = versions["checkpoint"]["name"], versions["checkpoint"]["timesteps"]
    lab.api.patch(f"/runs/{run['id']}/artifacts/{name}", json={"pinned": True})
    (path,) = lab.folder.rglob(f"checkpoints/{step}.zip")
    path.write_bytes(b"no zip")

    answer = lab.api.get(f"/runs/{run['id']}/publish/preview", params={"checkpoint": str(step)})

    assert answer.status_code == 422, answer.text
    assert "has no readable model" in answer.json()["error"]["message"]
