"""Reward checks over the API."""

from typing import Any

import httpx
import pytest

from tests.app.accounts.users import new_user
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"


def check(server: LabServer, body: str, **options: Any) -> httpx.Response:
    request = {"code": f"{HEAD}    {body}\n", "env_id": "CartPole-v1", **options}
    return server.api.post("/reward/check", json=request)


def test_a_good_reward_is_described(server: LabServer) -> None:
    answer = check(server, "return {'alive': 1.0, 'centre': -abs(next_obs.cart_position)}")
    report = answer.json()
    assert (answer.status_code, report["ok"], report["problems"]) == (200, True, [])
    assert [term["name"] for term in report["terms"]] == ["alive", "centre"]
    assert {len(term["histogram"]) for term in report["terms"]} == {12}
    assert report["rank_agreement"] > 0.5
    assert report["rank_method"] == "Kendall's tau-b"
    assert report["microseconds"] > 0
    assert next(one["name"] for one in report["trajectories"]) == "random actions"
    assert report["hackable_by"] == []


def test_a_hackable_reward_names_the_probes(server: LabServer) -> None:
    report = check(server, "return -abs(next_obs.cart_position)").json()
    hackable = [probe["name"] for probe in report["probes"] if probe["hackable"]]
    assert hackable == report["hackable_by"] != []
    assert report["ok"]


@pytest.mark.parametrize(
    ("body", "message"),
    [("return (", "never closed"), ("return nobody", "isn't defined"), ("return 1 / 0", "Zero")],
)
def test_faulty_code_is_answered_with_a_problem(server: LabServer, body: str, message: str) -> None:
    answer = check(server, body)
    report = answer.json()
    assert (answer.status_code, report["ok"], report["terms"]) == (200, False, [])
    (problem,) = report["problems"]
    assert (problem["line"], problem["severity"]) == (2, "error")
    assert message in problem["message"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"env_id": "CartPole-v9"}, "env_id"),
        ({"env_kwargs": {"gravity": 1}}, "env_kwargs.gravity"),
        ({"code": 7}, "code"),
        ({"code": "#" * 70_000}, "code"),
        ({"more": 1}, "more"),
    ],
)
def test_an_invalid_request_is_refused(
    server: LabServer, options: dict[str, Any], field: str
) -> None:
    answer = check(server, "return 1.0", **options)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


def test_options_of_the_environment_are_applied(server: LabServer) -> None:
    answer = check(server, "return reward", env_id="Pendulum-v1", env_kwargs={"g": 5.0})
    assert answer.json()["rank_agreement"] == pytest.approx(1.0)


def test_templates_pass_the_check_unchanged(server: LabServer) -> None:
    items = server.api.get("/reward/templates", params={"env_id": "CartPole-v1"}).json()["items"]
    assert items[0]["id"] == "default"
    answer = check(server, "", code=items[1]["code"])
    assert answer.json()["ok"]
    missing = server.api.get("/reward/templates", params={"env_id": "CartPole-v9"})
    assert missing.status_code == 422


def test_checks_are_rate_limited_per_user(guarded: LabServer) -> None:
    user, other = new_user(guarded), new_user(guarded)
    request = {"code": "def reward(", "env_id": "CartPole-v1"}
    answers = [user.api.post("/reward/check", json=request) for _ in range(61)]
    assert {answer.status_code for answer in answers[:60]} == {200}
    assert answers[60].status_code == 429
    assert "Retry-After" in answers[60].headers
    assert other.api.post("/reward/check", json=request).status_code == 200
