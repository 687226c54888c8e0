from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from app.analysis.comparison.lineage import Change, branch_of, nodes
from storage.records.runs import RunRecord
from tests.app.analysis.comparison.test_differences import run
from tests.lab_server import LabServer

CHANGES = [{"timesteps": 2_048, "learning_rate": 0.01}, {"timesteps": 4_096, "ent_coef": 0.1}]
VALUES = {
    "algorithm": "PPO",
    "total_timesteps": 10_000,
    "hyperparameters": {"learning_rate": 0.0003, "ent_coef": 0.0},
}


def parent(**more: Any) -> RunRecord:
    return run("first", **VALUES, changes=CHANGES, **more)


def test_each_edge_names_its_starting_policy_and_the_differences() -> None:
    child = run(
        "second",
        **{**VALUES, "hyperparameters": {"learning_rate": 0.001, "ent_coef": 0.0}},
        init_from="first@4000",
        reward_code="def reward(): ...",
    )
    child = _with_parent(child, "first")

    root, node = nodes([parent(), child], {"first": ([4_000], [2_000, 4_000])})

    assert root.edge == ""
    assert node.parent == "first"
    assert node.from_step == 4_000
    # The second run started after the changes during training of the first one.
    assert node.edge == ("From step 4,000: learning_rate 0.01 to 0.001, another custom reward.")


def test_a_change_during_training_names_the_policy_before_it() -> None:
    (node,) = nodes([parent()], {"first": ([9_000], [2_000])})

    assert node.changes == [
        Change(timesteps=2_048, words="learning_rate 0.01", before=2_000),
        Change(timesteps=4_096, words="ent_coef 0.1", before=2_000),
    ]
    assert node.branch_steps == [2_000, 9_000]


@pytest.mark.parametrize(
    ("init_from", "start"),
    [
        ("first", "From its newest policy"),
        ("first@best", "From its best policy"),
        ("first@4000", "From step 4,000"),
    ],
)
def test_a_run_names_the_policy_that_it_started_from(init_from: str, start: str) -> None:
    child = _with_parent(run("child", **VALUES, init_from=init_from), "first")

    _, node = nodes([parent(), child], {})

    assert node.edge.startswith(f"{start}: ")


def test_a_branch_of_a_deleted_run_says_so() -> None:
    (node,) = nodes([_with_parent(run("orphan", **VALUES, init_from="gone"), "gone")], {})

    assert node.parent is None
    assert "was deleted" in node.edge


def test_a_branch_has_the_settings_of_its_step_and_the_requested_changes() -> None:
    before = branch_of(parent(), 2_000, {})
    between = branch_of(parent(), 3_000, {"ent_coef": 0.5, "total_timesteps": 5_000})

    assert before.init_from == "first@2000"
    assert before.hyperparameters["learning_rate"] == 0.0003
    assert before.total_timesteps == 10_000
    assert between.hyperparameters == {"learning_rate": 0.01, "ent_coef": 0.5}
    assert between.total_timesteps == 5_000
    with pytest.raises(ValidationError):
        branch_of(parent(), 2_000, {"total_timesteps": "many"})


@pytest.mark.slow
def test_a_run_can_branch_before_a_change_and_the_tree_shows_it(server: LabServer) -> None:
    run_id = server.create(total_timesteps=400_000, start=True)["id"]
    server.wait_for_steps(run_id, 2_000)
    assert server.api.patch(f"/runs/{run_id}", json={"learning_rate": 0.01}).status_code == 200
    server.api.post(f"/runs/{run_id}/stop")
    server.wait_for(run_id, "stopped")

    def tree(of: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = server.api.get(f"/runs/{of}/lineage").json()["items"]
        return items

    (change,) = tree(run_id)[0]["changes"]
    assert change["words"] == "learning_rate 0.01"
    assert change["before"] <= change["timesteps"]
    child = server.create(init_from=f"{run_id}@{change['before']}", learning_rate=0.002)

    assert [one["id"] for one in tree(child["id"])] == [run_id, child["id"]]
    assert tree(child["id"]) == tree(run_id)
    branch = tree(run_id)[1]
    assert branch["parent"] == run_id
    assert branch["from_step"] == change["before"]
    assert "learning_rate 0.0003 to 0.002" in branch["edge"]
    refused = server.api.post(
        "/runs", json={"env_id": "CartPole-v1", "algorithm": "PPO", "init_from": f"{run_id}@7"}
    )
    assert str(change["before"]) in refused.json()["error"]["message"]


def _with_parent(record: RunRecord, parent_id: str) -> RunRecord:
    return replace(record, parent=parent_id)
