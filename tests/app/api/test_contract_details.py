"""Details of the API's contract that clients meet by accident."""

from typing import Any

import pytest

from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {
    "hyperparameters": {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]},
    "n_envs": 2,
}


@pytest.fixture(scope="module")
def run(server: LabServer) -> dict[str, Any]:
    return server.train(**SMALL, total_timesteps=1_024)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("address", ["/runs", "/previews", "/reward/check"])
def test_a_body_that_is_not_sent_as_json_is_refused(
    server: LabServer, address: str, kind: str
) -> None:
    body = '{"env_id": "CartPole-v1", "algorithm": "PPO", "code": ""}'

    answer = server.api.post(address, content=body, headers={"Content-Type": kind})

    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]["message"]


def test_an_evaluation_needs_no_body(server: LabServer, run: dict[str, Any]) -> None:
    answer = server.api.post(f"/runs/{run['id']}/evaluations")

    assert answer.status_code == 202
    assert answer.json()["episodes"] == 20


def test_a_checkpoint_may_be_given_by_its_file_name(server: LabServer, run: dict[str, Any]) -> None:
    names = [one["name"] for one in server.api.get(f"/runs/{run['id']}/artifacts").json()["items"]]
    name = next(name for name in names if name.startswith("checkpoint-"))
    address = f"/runs/{run['id']}/evaluations"

    answer = server.api.post(address, json={"checkpoint": name, "episodes": 1, "record": False})

    assert answer.status_code == 202, answer.text
    assert answer.json()["checkpoint"] == int(name.removeprefix("checkpoint-").removesuffix(".zip"))


@pytest.mark.parametrize("address", ["/environments", "/algorithms", "/runs/{run}/artifacts"])
def test_short_lists_can_be_paged(server: LabServer, run: dict[str, Any], address: str) -> None:
    address = address.format(run=run["id"])
    whole = server.api.get(address).json()
    names = [one.get("id") or one["name"] for one in whole["items"]]
    listed: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        part = server.api.get(address, params={"limit": 2, **cursor}).json()
        assert len(part["items"]) <= 2
        listed += [one.get("id") or one["name"] for one in part["items"]]
        if part["next"] is None:
            break
        cursor = {"cursor": part["next"]}

    assert whole["next"] is None
    assert listed == names
    for wrong in ({"limit": 0}, {"limit": 501}, {"cursor": "x"}, {"cursor": "99999"}, {"foo": 1}):
        assert server.api.get(address, params=wrong).status_code == 422


def test_a_budget_below_the_steps_done_is_refused(server: LabServer, run: dict[str, Any]) -> None:
    answer = server.api.patch(f"/runs/{run['id']}", json={"total_timesteps": 100})

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "total_timesteps"
    assert "1,024 steps already done" in answer.json()["error"]["message"]
    assert server.get(run["id"])["config"]["total_timesteps"] == 1_024


@pytest.mark.parametrize("field", ["name", "notes", "tags", "archived"])
def test_null_is_not_a_valid_label(server: LabServer, run: dict[str, Any], field: str) -> None:
    answer = server.api.patch(f"/runs/{run['id']}", json={field: None})

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field


@pytest.mark.parametrize(
    "labels", [{"name": "a\x00b"}, {"name": "a\nb"}, {"tags": ["a\tb"]}, {"notes": "a\x00b"}]
)
def test_control_characters_are_refused(
    server: LabServer, run: dict[str, Any], labels: dict[str, Any]
) -> None:
    answer = server.api.patch(f"/runs/{run['id']}", json=labels)

    assert answer.status_code == 422
    assert "control characters" in answer.json()["error"]["message"]
    assert server.api.patch(f"/runs/{run['id']}", json={"notes": "one\ntwo"}).status_code == 200
