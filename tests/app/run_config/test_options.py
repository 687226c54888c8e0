from typing import Any

import pytest

from app.core.errors import InputError
from app.protocol.wrappers import Wrappers
from app.run_config.config import RunConfig
from app.run_config.derived_runs import derive
from app.run_config.request import RunRequest


def config(**values: Any) -> RunConfig:
    request = {"env_id": "CartPole-v1", "algorithm": "PPO", **values}
    return RunConfig.from_request(RunRequest.model_validate(request))


def test_options_reach_the_config() -> None:
    wrappers = {"frame_stack": 4, "normalize_reward": True, "randomize": {"gravity": [8, 12]}}

    configured = config(wrappers=wrappers).wrappers

    assert configured.frame_stack == 4
    assert configured.normalize_reward
    assert configured.randomize == {"gravity": (8.0, 12.0)}


def test_an_evaluation_disables_disturbances() -> None:
    wrappers = Wrappers(
        frame_stack=2, normalize_observation=True, sticky_actions=0.25, randomize={"g": (1, 2)}
    )

    evaluation = wrappers.for_evaluation()

    assert wrappers.disturbances == ("sticky_actions", "randomize")
    assert evaluation == Wrappers(frame_stack=2, normalize_observation=True)
    assert evaluation.disturbances == ()


@pytest.mark.parametrize(
    ("wrappers", "field", "words"),
    [
        ({"frame_stak": 2}, "wrappers.frame_stak", "Unknown field"),
        ({"frame_stack": 0}, "wrappers.frame_stack", "from 1 to 16"),
        ({"time_limit": -1}, "wrappers.time_limit", "whole number"),
        ({"sticky_actions": 1.0}, "wrappers.sticky_actions", "from 0 to 0.95"),
        ({"normalize_reward": 1}, "wrappers.normalize_reward", "true or false"),
        ({"action_noise": 2.0}, "wrappers.action_noise", "from 0 to 1"),
        ({"randomize": [1]}, "wrappers.randomize", "an object"),
        ({"randomize": {"gravity": 3}}, "wrappers.randomize.gravity", "a range"),
        ({"randomize": {"gravity": [2, 1]}}, "wrappers.randomize.gravity", "a range"),
        ({"randomize": {"gravity": [0, float("inf")]}}, "wrappers.randomize.gravity", "a range"),
        ({"randomize": {"gravity": [0, 10**400]}}, "wrappers.randomize.gravity", "a range"),
        ({"randomize": {"gravity": [False, True]}}, "wrappers.randomize.gravity", "a range"),
        (
            {"randomize": {"__class__": [1, 2]}},
            "wrappers.randomize.__class__",
            "not an attribute name",
        ),
    ],
)
def test_an_invalid_option_is_refused_with_its_field(
    wrappers: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InputError, match=words) as refused:
        config(wrappers=wrappers)

    assert refused.value.field == field


def test_a_preset_sets_what_the_request_omits() -> None:
    created = config(env_id="LunarLander-v3", preset="fast", hyperparameters={"n_epochs": 3})

    assert created.hyperparameters["n_epochs"] == 3
    assert created.hyperparameters["gamma"] == 0.995
    assert created.n_envs == 32
    assert created.wrappers.normalize_reward
    assert created.total_timesteps == 300_000


def test_explicit_values_override_a_preset() -> None:
    created = config(preset="fast", total_timesteps=5_000, n_envs=16, learning_rate=0.5)

    assert (created.total_timesteps, created.n_envs) == (5_000, 16)
    assert created.hyperparameters["learning_rate"] == 0.5


def test_stopping_when_solved_needs_a_threshold() -> None:
    assert config(stop_when_solved=True, total_timesteps=2_000).evaluate_every == 100
    with pytest.raises(InputError, match="no solved threshold") as refused:
        config(env_id="Pendulum-v1", stop_when_solved=True)
    assert refused.value.field == "stop_when_solved"


def test_a_replay_buffer_of_images_is_smaller_and_one_that_does_not_fit_is_refused() -> None:
    size = config(env_id="CarRacing-v3", algorithm="SAC").hyperparameters["buffer_size"]

    assert isinstance(size, int)
    assert 10_000 < size < 300_000
    with pytest.raises(InputError, match="don't fit") as refused:
        config(env_id="CarRacing-v3", algorithm="SAC", hyperparameters={"buffer_size": 300_000})
    assert refused.value.field == "hyperparameters.buffer_size"
    assert config(algorithm="DQN").hyperparameters["buffer_size"] == 100_000


def test_an_evaluation_interval_longer_than_the_run_is_refused() -> None:
    with pytest.raises(InputError, match="more than the 2,000 steps") as refused:
        config(total_timesteps=2_000, evaluate_every=3_000)

    assert refused.value.field == "evaluate_every"


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "DQN", "QRDQN", "TRPO", "RecurrentPPO"])
def test_after_a_cnn_there_are_no_more_layers_as_in_sb3(algorithm: str) -> None:
    pytest.importorskip("ale_py")

    values = config(env_id="ALE/Pong-v5", algorithm=algorithm).hyperparameters

    assert values["net_arch"] == ()


def test_layers_after_a_cnn_can_be_requested_and_stored_ones_are_kept() -> None:
    pytest.importorskip("ale_py")

    run = config(env_id="ALE/Pong-v5", hyperparameters={"net_arch": [64, 64]})

    assert run.hyperparameters["net_arch"] == (64, 64)
    assert derive(run).hyperparameters["net_arch"] == [64, 64]


def test_a_hundred_thousand_frames_of_a_game_fit_into_a_replay_buffer() -> None:
    pytest.importorskip("ale_py")

    assert config(env_id="ALE/Pong-v5", algorithm="DQN").hyperparameters["buffer_size"] == 100_000


def test_the_largest_replay_buffer_depends_on_the_stacked_observations() -> None:
    racing: dict[str, Any] = {"env_id": "CarRacing-v3", "algorithm": "SAC"}
    walker: dict[str, Any] = {
        "env_id": "BipedalWalker-v3",
        "algorithm": "SAC",
        "wrappers": {"frame_stack": 16},
    }

    sizes = [
        config(**racing, wrappers={"frame_stack": stack}).hyperparameters["buffer_size"]
        for stack in (1, 4, 16)
    ]

    # Frames of images are stored once.
    assert sizes == [38_836] * 3
    assert config(**walker).hyperparameters["buffer_size"] == 174_762
    with pytest.raises(InputError, match=r"\(16 observations stacked\) don't fit"):
        config(**walker, hyperparameters={"buffer_size": 300_000})
