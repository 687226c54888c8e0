"""Filters of `GET /api/runs`, and labels that `PATCH` sets on runs."""

from typing import Any
from uuid import uuid4

import pytest

from tests.lab_server import LabServer

pytestmark = pytest.mark.slow


def names(server: LabServer, **filters: Any) -> list[str]:
    answer = server.api.get("/runs", params=filters)
    assert answer.status_code == 200, answer.text
    return [run["name"] for run in answer.json()["items"]]


def test_all_filters_combine(server: LabServer) -> None:
    tag = uuid4().hex
    wanted = server.create(name="wanted", tags=[tag], env_id="Acrobot-v1", algorithm="DQN")
    server.create(name="other environment", tags=[tag], algorithm="DQN")
    server.create(name="other algorithm", tags=[tag], env_id="Acrobot-v1")
    archived = server.create(name="put away", tags=[tag], env_id="Acrobot-v1", algorithm="DQN")
    server.api.patch(f"/runs/{archived['id']}", json={"archived": True, "notes": "Too slow."})
    filters = {"tag": tag, "env_id": "Acrobot-v1", "algorithm": "dqn", "status": "created"}

    assert names(server, **filters) == ["wanted"]
    assert names(server, **filters, archived="true") == ["put away"]
    assert names(server, **filters, archived="all", sort="name") == ["put away", "wanted"]
    assert names(server, **filters, archived="all", q="too slow") == ["put away"]
    assert names(server, **filters, owner="nobody@example.org") == []
    assert names(server, **filters, group_id="none") == []
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
def test_an_invalid_value_is_refused_with_its_field(
    server: LabServer, field: str, value: str
) -> None:
    answer = server.api.get("/runs", params={field: value})

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field


def test_labels_and_notes_of_a_run_are_validated(server: LabServer) -> None:
    run = server.create(name="labelled")
    address = f"/runs/{run['id']}"

    changed = server.api.patch(address, json={"tags": ["a", "b", "a"], "notes": "Good."}).json()

    assert (changed["tags"], changed["notes"], changed["score"]) == (["a", "b"], "Good.", None)
    for bad in ({"tags": [""]}, {"tags": ["x"] * 21}, {"name": " "}, {"notes": 3}, {"archived": 1}):
        assert server.api.patch(address, json=bad).status_code == 422, bad
    assert server.get(run["id"])["name"] == "labelled"


def test_runs_are_sorted_by_score(server: LabServer) -> None:
    tag = uuid4().hex
    server.create(name="unmeasured", tags=[tag])
    trained = server.train(name="trained", tags=[tag], evaluate_every=500)

    assert names(server, tag=tag, sort="-score") == ["trained", "unmeasured"]
    lines = server.api.get(f"/runs/{trained['id']}/metrics").json()["items"]
    scores = [line["eval_reward"] for line in lines if line.get("eval_reward") is not None]
    assert scores
    assert trained["score"] == max(scores)
