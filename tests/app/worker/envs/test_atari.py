"""Atari games follow their protocol, and runs of earlier versions keep the one they trained on."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.atari_wrappers import AtariWrapper

from app.protocol import Wrappers
from app.run_config import RunConfig, RunRequest, read_config
from app.worker.envs.environments import make_env
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, make_training_envs
from tests.stored_configs import stored_config

pytest.importorskip("ale_py")


def config_of_run(env_id: str = "ALE/SpaceInvaders-v5", **options: Any) -> RunConfig:
    return RunConfig.from_request(
        RunRequest.model_validate({"env_id": env_id, "algorithm": "PPO", **options})
    )


def config_of_old_run(env_id: str, **values: Any) -> RunConfig:
    """Return a configuration as version 0.1 stored it."""
    stored = stored_config(env_id=env_id, env_kwargs={"full_action_space": False}, **values)
    return read_config({**stored, "wrappers": {"frame_stack": 1, **values.get("wrappers", {})}})


def play(envs: Any, steps: int, seed: int = 3) -> list[Any]:
    """Return what random actions lead to."""
    envs.seed(seed)
    envs.action_space.seed(seed)
    seen = [envs.reset()]
    for _ in range(steps):
        observations, rewards, dones, infos = envs.step(
            [envs.action_space.sample() for _ in range(envs.num_envs)]
        )
        seen.append((observations, rewards, dones, infos))
    return seen


def play_a_game(envs: Any, seed: int = 3) -> dict[str, Any]:
    """Play until a whole game is over; return its info, and what the agent learned from."""
    envs.seed(seed)
    envs.action_space.seed(seed)
    envs.reset()
    rewards, ends, steps = [], 0, 0
    while True:
        _, reward, done, infos = envs.step([envs.action_space.sample()])
        rewards.append(float(reward[0]))
        ends += int(done[0])
        steps += 1
        if "episode" in infos[0]:
            return {"episode": infos[0]["episode"], "rewards": rewards, "ends": ends, "n": steps}


def arguments_of(env: gym.Env[Any, Any]) -> tuple[Any, Any]:
    assert env.spec is not None
    return env.spec.kwargs["frameskip"], env.spec.kwargs["repeat_action_probability"]


def test_the_games_of_v5_have_sticky_actions_and_skip_frames_inside_the_emulator() -> None:
    env = make_env("ALE/Pong-v5", {})

    env.reset(seed=1)
    began: Any = env.unwrapped.ale.getEpisodeFrameNumber()  # type: ignore[attr-defined]
    env.step(0)

    assert arguments_of(env) == (4, 0.25)
    assert env.unwrapped.ale.getEpisodeFrameNumber() - began == 4  # type: ignore[attr-defined]
    env.close()


def test_the_classic_protocol_skips_frames_once_and_is_not_sticky() -> None:
    env = make_env("ALE/Pong-v5", {"protocol": "NoFrameskip-v4"})

    env.reset(seed=1)
    began: Any = env.unwrapped.ale.getEpisodeFrameNumber()  # type: ignore[attr-defined]
    env.step(0)

    assert arguments_of(env) == (1, 0.0)
    assert env.unwrapped.ale.getEpisodeFrameNumber() - began == 4  # type: ignore[attr-defined]
    env.close()


def test_sticky_actions_of_the_emulator_are_kept_in_evaluations() -> None:
    options = {"protocol": "NoFrameskip-v4", "repeat_action_probability": 0.1}
    envs = make_evaluation_envs(config_of_run(env_kwargs=options).setup())

    (env,) = envs.unwrapped.envs  # type: ignore[attr-defined]

    assert arguments_of(env) == (1, 0.1)
    envs.close()


def test_a_classic_id_is_the_game_under_the_classic_protocol() -> None:
    config = config_of_run("SpaceInvadersNoFrameskip-v4")

    assert config.env_id == "ALE/SpaceInvaders-v5"
    assert config.env_kwargs["protocol"] == "NoFrameskip-v4"
    assert config.environment.label == "ALE/SpaceInvaders-v5 (NoFrameskip-v4)"


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ValueError, match="protocol must be v5 or NoFrameskip-v4, got 'v7'"):
        make_env("ALE/Pong-v5", {"protocol": "v7"})


@pytest.mark.parametrize("env_id", ["ALE/Breakout-v5", "ALE/Pong-v5"])
def test_an_old_run_continues_on_the_task_that_it_was_trained_on(env_id: str) -> None:
    """Version 0.1 made the environment like the reference here."""
    config = config_of_old_run(env_id)
    envs = make_training_envs(config.setup(), 1)
    reference = AtariWrapper(gym.make(env_id, frameskip=1, repeat_action_probability=0.0))

    first, *steps = play(envs, 600)
    reference.action_space.seed(3)
    expected, _ = reference.reset(seed=3)

    np.testing.assert_array_equal(first[0], np.moveaxis(expected, -1, 0))
    for observations, rewards, dones, infos in steps:
        expected, reward, terminated, truncated, _ = reference.step(reference.action_space.sample())
        last = infos[0]["terminal_observation"] if dones[0] else observations[0]
        np.testing.assert_array_equal(last, np.moveaxis(expected, -1, 0))
        assert (rewards[0], dones[0]) == (reward, terminated or truncated)
        if dones[0]:
            reference.reset()
    assert config.environment.label == f"{env_id} (NoFrameskip-v4)"
    envs.close()


def test_the_return_of_a_game_is_that_of_the_whole_game_although_lives_end_episodes() -> None:
    envs = make_training_envs(config_of_run("SpaceInvadersNoFrameskip-v4").setup(), 1)

    game = play_a_game(envs)

    assert game["ends"] == 3
    assert set(game["rewards"]) == {0.0, 1.0}
    assert game["episode"]["r"] > 3 * sum(game["rewards"])
    assert game["episode"]["l"] == game["n"]
    envs.close()


def test_under_v5_an_episode_is_a_whole_game_and_rewards_are_clipped_in_training_only() -> None:
    training = make_training_envs(config_of_run().setup(), 1)
    evaluation = make_evaluation_envs(config_of_run().setup())

    learned, evaluated = play_a_game(training), play_a_game(evaluation)

    assert (learned["ends"], set(learned["rewards"])) == (1, {0.0, 1.0})
    assert (evaluated["ends"], sum(evaluated["rewards"])) == (1, evaluated["episode"]["r"])
    assert learned["episode"] == evaluated["episode"]
    training.close()
    evaluation.close()


@pytest.mark.parametrize("protocol", ["v5", "NoFrameskip-v4"])
@pytest.mark.parametrize("frame_skip", [1, 3])
def test_a_time_limit_counts_steps_of_the_agent_over_the_whole_game(
    protocol: str, frame_skip: int
) -> None:
    wrappers = {"time_limit": 60, "frame_skip": frame_skip}
    config = config_of_run(env_kwargs={"protocol": protocol}, wrappers=wrappers)
    training = make_training_envs(config.setup(), 1)
    evaluation = make_evaluation_envs(config.setup())

    games = play_a_game(training), play_a_game(evaluation)

    for game in games:
        assert game["n"] == game["episode"]["l"] == 60
    training.close()
    evaluation.close()


def test_the_time_limit_of_an_old_run_counts_frames() -> None:
    config = config_of_old_run("ALE/Pong-v5", wrappers={"time_limit": 400})
    envs = make_training_envs(config.setup(), 1)

    game = play_a_game(envs)

    assert config.wrappers.time_limit_unit == "frames"
    assert 90 <= game["episode"]["l"] <= 100
    envs.close()


def test_frame_skip_counts_steps_of_the_agent_and_an_old_limit_frames() -> None:
    new = config_of_run("MountainCar-v0", wrappers={"frame_skip": 4, "time_limit": 30})
    old = config_of_old_run("MountainCar-v0", wrappers={"frame_skip": 4, "time_limit": 30})
    old = old.model_copy(update={"env_kwargs": {}})

    lengths = [
        play_a_game(make_training_envs(one.setup(), 1))["episode"]["l"] for one in (new, old)
    ]

    assert lengths == [30, 8]
    assert read_config(stored_config(wrappers={"time_limit": 9})).wrappers == Wrappers(time_limit=9)


@pytest.mark.parametrize("protocol", ["v5", "NoFrameskip-v4"])
def test_a_restored_game_goes_on_exactly(protocol: str) -> None:
    setup = config_of_run(env_kwargs={"protocol": protocol}).setup()
    envs, restored = make_training_envs(setup, 2), make_training_envs(setup, 2)
    play(envs, 300)
    actions = [[envs.action_space.sample() for _ in range(2)] for _ in range(400)]
    episodes = envs.env_method("current_episode")
    restored.reset()

    for index, episode in enumerate(episodes):
        assert restored.env_method("replay_episode", episode, indices=index) == [True]

    for action in actions:
        for expected, found in zip(envs.step(action)[1:], restored.step(action)[1:], strict=True):
            if isinstance(expected, np.ndarray):
                np.testing.assert_array_equal(found, expected)
            else:
                assert [one.get("episode") for one in found] == [
                    one.get("episode") for one in expected
                ]
    envs.close()
    restored.close()


def test_an_agent_can_observe_colors() -> None:
    env = make_env("ALE/Pong-v5", {"greyscale": False})

    observation, _ = env.reset(seed=1)

    assert observation.shape == env.observation_space.shape == (84, 84, 3)
    assert len({tuple(pixel) for pixel in observation.reshape(-1, 3)}) > 3
    env.close()
