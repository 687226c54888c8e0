import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from stable_baselines3 import PPO

from tests.app.sharing import bundles
from tests.app.sharing.fake_hub import FakeHub, Fault
from tests.conftest import free_port
from tests.lab_server import LabServer, wait_until

pytestmark = pytest.mark.slow

TOKEN = "hf_aVerySecretToken0123456789"
SMALL = {"n_steps": 64, "batch_size": 64, "net_arch": [16]}


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    with FakeHub(TOKEN) as fake_hub:
        yield fake_hub


@pytest.fixture(scope="module")
def lab(hub: FakeHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("publishing")
    settings = {"RL_LAB_WORKERS": "1", "HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_of_the_server"}
    with LabServer(folder, free_port(), **settings) as server:
        yield server


@pytest.fixture(scope="module")
def run_id(lab: LabServer) -> str:
    options = {"hyperparameters": SMALL, "wrappers": {"normalize_observation": True}}
    run = lab.train(total_timesteps=2_000, **options)
    assert run["status"] == "completed", run["error"]
    test = lab.api.post(f"/runs/{run['id']}/evaluations", json={"episodes": 3}).json()
    path = f"/runs/{run['id']}/evaluations/{test['id']}"
    wait_until(lambda: lab.api.get(path).json()["status"] == "completed", within=60)
    run_id: str = run["id"]
    return run_id


@pytest.fixture(autouse=True)
def reset_hub(hub: FakeHub) -> None:
    hub.repos.clear()
    hub.faults.clear()
    hub.calls.clear()


def publish(lab: LabServer, run_id: str, **options: Any) -> dict[str, Any]:
    body = {"repo_id": "ada/cart", "token": TOKEN, **options}
    answer = lab.api.post(f"/runs/{run_id}/publish", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.json()["status"] in ("queued", "uploading")
    path = f"/runs/{run_id}/publish"
    wait_until(lambda: lab.api.get(path).json()["status"] in ("done", "failed"), within=90)
    publication: dict[str, Any] = lab.api.get(path).json()
    return publication


def test_a_published_model_is_complete(
    lab: LabServer, hub: FakeHub, run_id: str, tmp_path: Path
) -> None:
    publication = publish(lab, run_id, repo_id="cart", message="First try")

    assert publication == {
        **publication,
        "status": "done",
        "progress": 1,
        "url": f"{hub.url}/ada/cart",
        "error": None,
    }
    repo = hub.repos["ada/cart"]
    assert (repo.private, repo.commits) == (True, ["First try"])
    test = lab.api.get(f"/runs/{run_id}/evaluations/latest").json()
    card = repo.files.pop("README.md").decode()
    _, head, text = card.split("---\n", 2)
    metadata = yaml.safe_load(head)
    metric = metadata["model-index"][0]["results"][0]["metrics"][0]
    assert metric["value"].startswith(f"{test['mean_return']:.2f} +/- ")
    assert metadata["model-index"][0]["results"][0]["dataset"]["type"] == "CartPole-v1"
    assert "| `n_steps` | `64` |" in text
    assert 'PPO.load(hf_hub_download("ada/cart", "ppo-CartPole-v1.zip"))' in text
    names = ["config.json", "learning_curve.png", "ppo-CartPole-v1.zip", "replay.mp4"]
    assert sorted(repo.files) == [*names, "results.json", "vec_normalize.pkl"]
    assert json.loads(repo.files["results.json"])["returns"] == test["returns"]
    assert repo.files["learning_curve.png"].startswith(b"\x89PNG")
    (tmp_path / "m.zip").write_bytes(repo.files["ppo-CartPole-v1.zip"])
    assert PPO.load(tmp_path / "m.zip").num_timesteps >= 2_000
    assert lab.messages(run_id)[-1] == f"Published at {hub.url}/ada/cart."


def test_the_preview_matches_the_upload(lab: LabServer, hub: FakeHub, run_id: str) -> None:
    preview = lab.api.get(f"/runs/{run_id}/publish/preview?repo_id=ada/cart").json()

    publish(lab, run_id, private=False)

    repo = hub.repos["ada/cart"]
    assert not repo.private
    assert repo.files["README.md"].decode() == preview["card"]
    assert {one["name"] for one in preview["files"]} == set(repo.files) - {"README.md"}


def test_an_existing_repository_is_updated_only_on_request(
    lab: LabServer, hub: FakeHub, run_id: str
) -> None:
    publish(lab, run_id)

    refused = publish(lab, run_id)
    assert (refused["status"], refused["code"]) == ("failed", "exists")
    assert "ada/cart exists already. Choose another name" in refused["error"]
    assert publish(lab, run_id, update=True)["status"] == "done"


FAULTS: dict[str, tuple[list[Fault], str, str]] = {
    "rate limit, error while uploading, closed connection, error": (
        [
            Fault("/repos/create", 429, 1, {"Retry-After": "1"}),
            Fault("/lfs/", 500),
            Fault("/commit/", 0),
            Fault("/commit/", 500),
        ],
        "",
        "",
    ),
    "long rate limit": (
        [Fault("/repos/create", 429, 9, {"Retry-After": "3600"})],
        "rate_limited",
        "Try again in 3600 s",
    ),
    "forbidden": ([Fault("/commit/", 403, 9)], "no_rights", "may not write to ada/cart"),
    "unauthorized": ([Fault("whoami", 401, 9)], "wrong_token", "rejects this token"),
    "permanent error": ([Fault("whoami", 503, 9)], "no_network", "an internal error \\(503\\)"),
    "unreachable": (
        [Fault("whoami", 0, 9)],
        "no_network",
        ("can't be reached, or closed the connection"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_errors_of_the_hub_are_retried_or_reported(
    lab: LabServer, hub: FakeHub, run_id: str, name: str
) -> None:
    hub.faults[:], code, sentence = [*FAULTS[name][0]], FAULTS[name][1], FAULTS[name][2]

    publication = publish(lab, run_id)

    assert (publication["status"], publication["code"] or "") == (
        "failed" if code else "done",
        code,
    )
    assert re.search(sentence, publication["error"] or "")


def test_a_wrong_token_and_a_foreign_namespace_are_reported(
    lab: LabServer, hub: FakeHub, run_id: str
) -> None:
    assert publish(lab, run_id, token="hf_wrong")["code"] == "wrong_token"
    assert publish(lab, run_id, repo_id="eve/cart")["code"] == "no_rights"
    assert hub.repos == {}


def test_invalid_requests_are_refused_before_the_hub_is_called(
    lab: LabServer, hub: FakeHub, run_id: str
) -> None:
    def refused(run: str = run_id, **options: Any) -> tuple[int, str]:
        answer = lab.api.post(f"/runs/{run}/publish", json={"repo_id": "x", **options})
        return answer.status_code, answer.json()["error"]["field"] or ""

    assert refused() == (422, "token")
    assert refused(token="with space") == (422, "token")
    assert refused(token=TOKEN, repo_id="../x") == (422, "repo_id")
    assert refused(token=TOKEN, repo_id="a/b/c") == (422, "repo_id")
    assert refused(lab.create()["id"], token=TOKEN) == (409, "")
    assert hub.calls == []


def test_the_token_is_neither_stored_nor_returned_nor_logged(
    lab: LabServer, hub: FakeHub, run_id: str, capfd: pytest.CaptureFixture[str]
) -> None:
    publish(lab, run_id)
    publish(lab, run_id, token=TOKEN + "x")
    too_long = lab.api.post(f"/runs/{run_id}/publish", json={"repo_id": "x", "token": TOKEN * 50})
    bundle = lab.api.get(f"/runs/{run_id}/artifacts/bundle.zip").content

    assert TOKEN not in too_long.text
    assert all(TOKEN.encode() not in content for content in bundles.read(bundle).values())
    for address in ("", "/config", "/events", "/publish", "/report"):
        assert TOKEN not in lab.api.get(f"/runs/{run_id}{address}").text
    for path in lab.folder.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path
    assert all(TOKEN not in path for _, path in hub.calls)
    output = lab.terminate()
    assert TOKEN not in output
    assert "hf_of_the_server" not in output
