"""Rewards checked over the API."""

from typing import Any

import httpx
import pytest

from tests.app.accounts.people import newcomer
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"


def check(server: LabServer, body: str, **wishes: Any) -> httpx.Response:
    asked = {"code": f"{HEAD}    {body}\n", "env_id": "CartPole-v1", **wishes}
    return server.api.post("/reward/check", json=asked)


def test_a_good_reward_is_described(server: LabServer) -> None:
    answer = check(server, "return {'alive': 1.0, 'centre': -abs(next_obs.cart_position)}")
    found = answer.json()
    assert (answer.status_code, found["ok"], found["problems"]) == (200, True, [])
    assert [term["name"] for term in found["terms"]] == ["alive", "centre"]
    assert {len(term["histogram"]) for term in found["terms"]} == {12}
    assert found["rank_agreement"] > 0.5
    assert found["rank_method"] == "Kendall's tau-b"
    assert found["microseconds"] > 0
    assert next(one["name"] for one in found["trajectories"]) == "random actions"
    assert found["hackable_by"] == []


def test_a_hackable_reward_says_by_what(server: LabServer) -> None:
    found = check(server, "return -abs(next_obs.cart_position)").json()
    tricks = [probe["name"] for probe in found["probes"] if probe["hackable"]]
    assert tricks == found["hackable_by"] != []
    assert found["ok"]


@pytest.mark.parametrize(
    ("body", "message"),
    [("return (", "never closed"), ("return nobody", "isn't defined"), ("return 1 / 0", "Zero")],
)
def test_a_fault_is_an_answer(server: LabServer, body: str, message: str) -> None:
    answer = check(server, body)
    found = answer.json()
    assert (answer.status_code, found["ok"], found["terms"]) == (200, False, [])
    (problem,) = found["problems"]
    assert (problem["line"], problem["severity"]) == (2, "error")
    assert message in problem["message"]


@pytest.mark.parametrize(
    ("wishes", "field"),
    [
        ({"env_id": "CartPole-v9"}, "env_id"),
        ({"env_kwargs": {"gravity": 1}}, "env_kwargs.gravity"),
        ({"code": 7}, "code"),
        ({"code": "#" * 70_000}, "code"),
        ({"more": 1}, "more"),
    ],
)
def test_a_request_that_cant_be_read_is_refused(
    server: LabServer, wishes: dict[str, Any], field: str
) -> None:
    answer = check(server, "return 1.0", **wishes)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


def test_options_of_the_environment_count(server: LabServer) -> None:
    answer = check(server, "return reward", env_id="Pendulum-v1", env_kwargs={"g": 5.0})
    assert answer.json()["rank_agreement"] == pytest.approx(1.0)


def test_templates_can_be_checked_as_they_are(server: LabServer) -> None:
    items = server.api.get("/reward/templates", params={"env_id": "CartPole-v1"}).json()["items"]
    assert items[0]["id"] == "default"
    answer = check(server, "", code=items[1]["code"])
    assert answer.json()["ok"]
    missing = server.api.get("/reward/templates", params={"env_id": "CartPole-v9"})
    assert missing.status_code == 422


def test_nobody_checks_without_end(guarded: LabServer) -> None:
    person, other = newcomer(guarded), newcomer(guarded)
    asked = {"code": "def reward(", "env_id": "CartPole-v1"}
    answers = [person.api.post("/reward/check", json=asked) for _ in range(61)]
    assert {answer.status_code for answer in answers[:60]} == {200}
    assert answers[60].status_code == 429
    assert "Retry-After" in answers[60].headers
    assert other.api.post("/reward/check", json=asked).status_code == 200
