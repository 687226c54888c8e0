"""What `GET /api/runs` finds, and what `PATCH` writes on runs."""

from typing import Any
from uuid import uuid4

import pytest

from tests.lab_server import LabServer

pytestmark = pytest.mark.slow


def names(server: LabServer, **asked: Any) -> list[str]:
    answer = server.api.get("/runs", params=asked)
    assert answer.status_code == 200, answer.text
    return [run["name"] for run in answer.json()["items"]]


def test_all_filters_combine(server: LabServer) -> None:
    tag = uuid4().hex
    wanted = server.create(name="wanted", tags=[tag], env_id="Acrobot-v1", algorithm="DQN")
    server.create(name="other environment", tags=[tag], algorithm="DQN")
    server.create(name="other algorithm", tags=[tag], env_id="Acrobot-v1")
    put_away = server.create(name="put away", tags=[tag], env_id="Acrobot-v1", algorithm="DQN")
    server.api.patch(f"/runs/{put_away['id']}", json={"archived": True, "notes": "Too slow."})
    asked = {"tag": tag, "env_id": "Acrobot-v1", "algorithm": "dqn", "status": "created"}

    assert names(server, **asked) == ["wanted"]
    assert names(server, **asked, archived="true") == ["put away"]
    assert names(server, **asked, archived="all", sort="name") == ["put away", "wanted"]
    assert names(server, **asked, archived="all", q="too slow") == ["put away"]
    assert names(server, **asked, owner="nobody@example.org") == []
    assert names(server, **asked, group_id="none") == []
    assert names(server, q=wanted["id"][:10]) == ["wanted"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "sleeping"),
        ("archived", "perhaps"),
        ("sort", "colour"),
        ("limit", "0"),
        ("cursor", "nonsense"),
        ("tag", "x" * 201),
        ("q", "x" * 201),
        ("page", "2"),
    ],
)
def test_a_bad_value_is_refused_by_its_name(server: LabServer, field: str, value: str) -> None:
    answer = server.api.get("/runs", params={field: value})

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field


def test_what_is_written_on_a_run_is_checked(server: LabServer) -> None:
    run = server.create(name="labelled")
    address = f"/runs/{run['id']}"

    changed = server.api.patch(address, json={"tags": ["a", "b", "a"], "notes": "Good."}).json()

    assert (changed["tags"], changed["notes"], changed["score"]) == (["a", "b"], "Good.", None)
    for bad in ({"tags": [""]}, {"tags": ["x"] * 21}, {"name": " "}, {"notes": 3}, {"archived": 1}):
        assert server.api.patch(address, json=bad).status_code == 422, bad
    assert server.get(run["id"])["name"] == "labelled"


def test_runs_are_sorted_by_what_they_scored(server: LabServer) -> None:
    tag = uuid4().hex
    server.create(name="unmeasured", tags=[tag])
    trained = server.train(name="trained", tags=[tag], evaluate_every=500)

    assert names(server, tag=tag, sort="-score") == ["trained", "unmeasured"]
    lines = server.api.get(f"/runs/{trained['id']}/metrics").json()["items"]
    judged = [line["eval_reward"] for line in lines if line.get("eval_reward") is not None]
    assert judged
    assert trained["score"] == max(judged)
