from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from app.run_config.config import AppliedChange, RunConfig
from app.run_config.derived_runs import derive
from app.run_config.request import RunRequest
from app.runs.branching import BranchRequest, branch_request
from storage.records.runs import RunRecord, RunStatus

CHANGED = (
    AppliedChange(timesteps=2_048, learning_rate=0.01),
    AppliedChange(timesteps=4_096, ent_coef=0.1),
)


@pytest.fixture
def config() -> RunConfig:
    request = RunRequest(
        env_id="CartPole-v1",
        algorithm="PPO",
        seed=7,
        hyperparameters={"gamma": 0.9, "learning_rate": 0.002},
        wrappers={"frame_stack": 2},
    )
    return RunConfig.from_request(request).model_copy(update={"changes": CHANGED})


def run_of(config: RunConfig) -> RunRecord:
    now = datetime.now(UTC)
    return RunRecord(
        id="first",
        name="First",
        env_id="CartPole-v1",
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config=config.model_dump(mode="json"),
        created_at=now,
        updated_at=now,
    )


def test_a_repetition_has_the_original_values_and_another_seed(
    config: RunConfig,
) -> None:
    repetition = derive(config)

    assert repetition.hyperparameters["learning_rate"] == 0.002
    assert repetition.seed is None
    assert repetition.start
    assert derive(config, keeps_seed=True).seed == 7
    assert derive(config, {"seed": 9}).seed == 9


@pytest.mark.parametrize(
    ("at", "learning_rate", "ent_coef"),
    [(2_000, 0.002, 0.0), (3_000, 0.01, 0.0), (None, 0.01, 0.1)],
)
def test_a_run_from_a_policy_has_the_values_the_policy_was_trained_with(
    config: RunConfig, at: int | None, learning_rate: float, ent_coef: float
) -> None:
    derived = derive(config, {"init_from": "first"}, at=at)

    assert derived.hyperparameters["learning_rate"] == learning_rate
    assert derived.hyperparameters["ent_coef"] == ent_coef
    assert derived.hyperparameters["gamma"] == 0.9


def test_a_branch_with_another_reward_keeps_changes_made_during_training(config: RunConfig) -> None:
    branch = branch_request(run_of(config), BranchRequest(reward_code=None))

    assert branch.hyperparameters["learning_rate"] == 0.01
    assert branch.hyperparameters["ent_coef"] == 0.1
    assert branch.seed is None


def test_a_change_keeps_the_other_keys_of_a_mapping(config: RunConfig) -> None:
    changed = derive(config, {"hyperparameters": {"ent_coef": 0.5}, "wrappers": {"frame_skip": 2}})

    assert changed.hyperparameters["gamma"] == 0.9
    assert changed.hyperparameters["ent_coef"] == 0.5
    assert (changed.wrappers["frame_stack"], changed.wrappers["frame_skip"]) == (2, 2)


def test_an_invalid_value_is_refused(config: RunConfig) -> None:
    with pytest.raises(ValidationError):
        derive(config, {"total_timesteps": "many"})
