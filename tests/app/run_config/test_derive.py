from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from app.run_config.config import RunConfig, RunRequest
from app.run_config.derive import derive
from app.runs.branching import BranchRequest, branch_request
from storage.records.runs import RunRecord, RunStatus

CHANGED = [
    {"timesteps": 2_048, "learning_rate": 0.01},
    {"timesteps": 4_096, "ent_coef": 0.1},
]


@pytest.fixture
def config() -> dict[str, Any]:
    request = RunRequest(
        env_id="CartPole-v1",
        algorithm="PPO",
        seed=7,
        hyperparameters={"gamma": 0.9, "learning_rate": 0.002},
        wrappers={"frame_stack": 2},
    )
    made = RunConfig.from_request(request).model_dump(mode="json")
    return {**made, "changes": CHANGED}


def run_of(config: dict[str, Any]) -> RunRecord:
    now = datetime.now(UTC)
    return RunRecord(
        id="first",
        name="First",
        env_id="CartPole-v1",
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config=config,
        created_at=now,
        updated_at=now,
    )


def test_the_same_once_more_begins_as_the_first_did_with_another_seed(
    config: dict[str, Any],
) -> None:
    again = derive(config)

    assert again.hyperparameters["learning_rate"] == 0.002
    assert again.seed is None
    assert again.start
    assert derive(config, keeps_seed=True).seed == 7
    assert derive(config, {"seed": 9}).seed == 9


@pytest.mark.parametrize(
    ("at", "learning_rate", "ent_coef"),
    [(2_000, 0.002, 0.0), (3_000, 0.01, 0.0), (None, 0.01, 0.1)],
)
def test_who_begins_with_a_policy_has_the_values_it_was_trained_with(
    config: dict[str, Any], at: int | None, learning_rate: float, ent_coef: float
) -> None:
    begun = derive(config, {"init_from": "first"}, at=at)

    assert begun.hyperparameters["learning_rate"] == learning_rate
    assert begun.hyperparameters["ent_coef"] == ent_coef
    assert begun.hyperparameters["gamma"] == 0.9


def test_a_branch_with_another_reward_keeps_what_was_changed_live(config: dict[str, Any]) -> None:
    branch = branch_request(run_of(config), BranchRequest(reward_code=None))

    assert branch.hyperparameters["learning_rate"] == 0.01
    assert branch.hyperparameters["ent_coef"] == 0.1
    assert branch.seed is None


def test_a_change_leaves_the_rest_of_a_mapping_as_it_is(config: dict[str, Any]) -> None:
    changed = derive(config, {"hyperparameters": {"ent_coef": 0.5}, "wrappers": {"frame_skip": 2}})

    assert changed.hyperparameters["gamma"] == 0.9
    assert changed.hyperparameters["ent_coef"] == 0.5
    assert (changed.wrappers["frame_stack"], changed.wrappers["frame_skip"]) == (2, 2)


def test_a_value_that_can_t_be_used_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        derive(config, {"total_timesteps": "many"})
