"""Runs that start with the policy of another one."""

from typing import Any

import pytest

from app.run_config import RunConfig, RunRequest
from app.runs.transfer import describe_exploration


@pytest.mark.parametrize(
    ("algorithm", "values", "words"),
    [
        (
            "DQN",
            {"learning_starts": 1_000},
            "Exploration begins anew, with 1,000 steps of random actions (learning_starts) and a "
            "share of 1 of random actions that decays (exploration_initial_eps): lower this to "
            "keep to the policy.",
        ),
        (
            "SAC",
            {"learning_starts": 100},
            "Exploration begins anew, with 100 steps of random actions (learning_starts): lower "
            "this to keep to the policy.",
        ),
        ("SAC", {"learning_starts": 0}, None),
        ("PPO", {}, None),
    ],
)
def test_the_log_says_how_a_run_explores_that_starts_with_a_trained_policy(
    algorithm: str, values: dict[str, Any], words: str | None
) -> None:
    env_id = "Pendulum-v1" if algorithm == "SAC" else "CartPole-v1"
    request = RunRequest(env_id=env_id, algorithm=algorithm, hyperparameters=values)

    assert describe_exploration(RunConfig.from_request(request)) == words
