"""Only the task for which a solved threshold is known has one."""

from typing import Any

import pytest

from app.core.errors import InputError
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest


def config(env_id: str, **request: Any) -> RunConfig:
    return RunConfig.from_request(RunRequest(env_id=env_id, algorithm="PPO", **request))


@pytest.mark.parametrize(
    ("env_id", "wrappers"),
    [
        ("MountainCar-v0", {"time_limit": 100}),
        ("Acrobot-v1", {"time_limit": 60}),
        ("CartPole-v1", {"frame_skip": 2}),
    ],
)
def test_a_wrapper_that_changes_the_task_leaves_no_threshold(
    env_id: str, wrappers: dict[str, Any]
) -> None:
    """An untrained policy reaches -110 on MountainCar if every episode ends after 100 steps."""
    assert config(env_id, wrappers=wrappers).environment.solved_threshold is None
    with pytest.raises(InputError, match="make it another task") as refused:
        config(env_id, wrappers=wrappers, stop_when_solved=True)
    assert refused.value.field == "stop_when_solved"


@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        ("CartPole-v1", {"wrappers": {"time_limit": 500}}),
        ("MountainCar-v0", {"wrappers": {"time_limit": 1_000}}),
        ("CartPole-v1", {"wrappers": {"frame_stack": 4, "normalize_observation": True}}),
        ("CartPole-v1", {"wrappers": {"observation_noise": 0.1}}),
        ("LunarLander-v3", {"env_kwargs": {"gravity": -10.0}}),
    ],
)
def test_the_same_task_keeps_its_threshold(env_id: str, options: dict[str, Any]) -> None:
    assert config(env_id, stop_when_solved=True, **options).environment.solved_threshold


def test_an_option_of_the_environment_that_changes_the_task_leaves_no_threshold() -> None:
    assert (
        config("LunarLander-v3", env_kwargs={"gravity": -5.0}).environment.solved_threshold is None
    )
    with pytest.raises(InputError, match="with its default options only"):
        config("FrozenLake-v1", env_kwargs={"is_slippery": False}, stop_when_solved=True)


def test_disturbances_count_if_they_are_evaluated() -> None:
    noisy: dict[str, Any] = {"wrappers": {"observation_noise": 0.1}}

    assert config("CartPole-v1", **noisy).environment.solved_threshold == 475
    disturbed = config("CartPole-v1", **noisy, evaluation={"disturbances": True})
    assert disturbed.environment.solved_threshold is None
