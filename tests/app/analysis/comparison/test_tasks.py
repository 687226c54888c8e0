from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.analysis.comparison.tasks import (
    differences_from_reference,
    has_default_task,
    task_differences,
)
from app.catalog.environments import ReferenceScore, reference_score
from storage.records.runs import RunRecord, RunStatus, ScoreKind
from tests.stored_configs import stored_config


def run(**values: Any) -> RunRecord:
    now = datetime.now(UTC)
    return RunRecord(
        id="id",
        name="name",
        env_id="CartPole-v1",
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config=stored_config(**values),
        created_at=now,
        updated_at=now,
    )


@pytest.mark.parametrize(
    ("values", "difference"),
    [
        ({"wrappers": {"time_limit": 100}}, "time_limit none and 100"),
        ({"wrappers": {"frame_skip": 4}}, "frame_skip 1 and 4"),
        ({"wrappers": {"sticky_actions": 0.25}}, "sticky_actions 0 and 0.25"),
        ({"wrappers": {"observation_noise": 0.1}}, "observation_noise 0 and 0.1"),
        ({"wrappers": {"action_noise": 0.1}}, "action_noise 0 and 0.1"),
        ({"wrappers": {"randomize": {"gravity": [5, 15]}}}, "randomize gravity none and 5, 15"),
    ],
)
def test_what_changes_returns_is_a_difference_of_the_tasks(
    values: dict[str, Any], difference: str
) -> None:
    assert task_differences(run(), run(**values), ScoreKind.TRAINING_MEAN) == [difference]


def test_options_of_the_environment_are_part_of_the_task() -> None:
    moon, mars = (
        run(env_id="LunarLander-v3", env_kwargs={"gravity": gravity}) for gravity in (-1.6, -3.7)
    )

    assert task_differences(moon, mars, ScoreKind.LAST_EVALUATION) == ["gravity -1.6 and -3.7"]


@pytest.mark.parametrize(
    "values",
    [
        {"wrappers": {"frame_stack": 4}},
        {"wrappers": {"normalize_observation": True, "normalize_reward": True}},
        {"wrappers": {"time_limit": 500}},
        {"reward_code": "def reward(obs):\n    return 1.0\n"},
        {"hyperparameters": {"gamma": 0.9}},
    ],
)
def test_what_only_the_agent_sees_is_none(values: dict[str, Any]) -> None:
    """500 steps are CartPole's own time limit; returns are the environment's."""
    assert task_differences(run(), run(**values), ScoreKind.TRAINING_MEAN) == []


def test_disturbances_of_training_are_none_where_evaluations_are_compared() -> None:
    noisy = run(wrappers={"observation_noise": 0.1, "sticky_actions": 0.25, "time_limit": 100})

    assert task_differences(run(), noisy, ScoreKind.LAST_EVALUATION) == ["time_limit none and 100"]


def test_disturbances_are_a_difference_where_evaluations_have_them() -> None:
    noisy = run(wrappers={"observation_noise": 0.1}, evaluation={"disturbances": True})

    assert task_differences(run(), noisy, ScoreKind.LAST_EVALUATION) == [
        "observation_noise 0 and 0.1"
    ]
    assert task_differences(run(), noisy, ScoreKind.FINAL_EVALUATION) == []


def test_sampled_actions_are_a_difference_where_periodic_evaluations_are_compared() -> None:
    sampled = run(evaluation={"deterministic": False})

    assert task_differences(run(), sampled, ScoreKind.LAST_EVALUATION) == [
        "deterministic evaluations on and off"
    ]
    assert task_differences(run(), sampled, ScoreKind.FINAL_EVALUATION) == []
    assert task_differences(run(), sampled, ScoreKind.TRAINING_MEAN) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "differences"),
    [
        # CartPole's own limit of 500 steps is 125 decisions of the agent.
        ({}, {"time_limit": 125}, []),
        ({}, {"time_limit": 500, "time_limit_unit": "frames"}, []),
        ({"time_limit": 50}, {"time_limit": 200, "time_limit_unit": "frames"}, []),
        ({"time_limit": 50}, {"time_limit": 100}, ["time_limit 50 and 100"]),
        ({}, {"time_limit": 500}, ["time_limit none and 500"]),
    ],
)
def test_time_limits_are_compared_in_steps_of_the_agent(
    ours: dict[str, Any], theirs: dict[str, Any], differences: list[str]
) -> None:
    one, other = (
        run(layout=2, wrappers={"frame_skip": 4, **wrappers}) for wrappers in (ours, theirs)
    )

    assert task_differences(one, other, ScoreKind.TRAINING_MEAN) == differences


def test_nothing_is_said_of_a_configuration_that_cannot_be_read() -> None:
    assert task_differences(run(), run(n_envs="many"), ScoreKind.TRAINING_MEAN) == []


def pong(**options: Any) -> RunRecord:
    found = run(layout=2, env_id="ALE/Pong-v5", env_kwargs=options)
    return replace(found, env_id="ALE/Pong-v5")


def human() -> ReferenceScore:
    found = reference_score("ALE/Pong-v5")
    assert found is not None
    return found


@pytest.mark.parametrize("sticky", [None, 0.0])
def test_the_scores_of_human_play_are_of_the_classic_protocol(sticky: float | None) -> None:
    classic = pong(protocol="NoFrameskip-v4", repeat_action_probability=sticky)

    assert differences_from_reference(classic, ScoreKind.FINAL_EVALUATION, human()) == []
    assert not has_default_task(classic, ScoreKind.FINAL_EVALUATION)


def test_sticky_actions_are_a_difference_from_human_play() -> None:
    assert differences_from_reference(pong(), ScoreKind.FINAL_EVALUATION, human()) == [
        "protocol NoFrameskip-v4 and v5",
        "repeat_action_probability 0 and 0.25",
    ]
    assert has_default_task(pong(), ScoreKind.FINAL_EVALUATION)
