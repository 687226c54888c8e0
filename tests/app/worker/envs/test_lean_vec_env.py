"""LeanVecEnv returns exactly what SB3's DummyVecEnv with a `Monitor` returns."""

import math
import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.replayable import Replayable
from app.worker.envs.vectorized.lean_vec_env import LeanVecEnv
from app.worker.envs.vectorized.pipeline import make_training_envs

ENVIRONMENTS = ("CartPole-v1", "Pendulum-v1", "LunarLander-v3", "FrozenLake-v1", "Blackjack-v1")


class Map(gym.Env[Any, Any]):
    """Has dict observations."""

    observation_space = gym.spaces.Dict(
        {
            "place": gym.spaces.Box(-100, 100, (2,), np.float32),
            "level": gym.spaces.Discrete(200),
        }
    )
    action_space = gym.spaces.Discrete(2)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self._place = np.zeros(2, np.float32)
        self._steps = 0
        return {"place": self._place, "level": 0}, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        self._place += 1 + action
        seen = {"place": self._place, "level": self._steps}
        return seen, 0.5, self._steps == 7, False, {"steps": self._steps}


class Counter(gym.Env[Any, Any]):
    """Counts to three and reuses one array for all observations."""

    observation_space = gym.spaces.Box(0, 3, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self._count = np.zeros(1, np.float32)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self._count[:] = 0
        return self._count, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._count += 1
        return self._count, 1.0, bool(self._count[0] == 3), False, {}


def both(make: Any) -> tuple[VecEnv, VecEnv]:
    plain = DummyVecEnv([lambda: Monitor(make())] * 3)
    lean = LeanVecEnv([lambda: Replayable(make())] * 3)
    for envs in (plain, lean):
        envs.seed(5)
    return plain, lean


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_same(one[name], other[name])
    else:
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.array_equal(one, other)


def assert_same_steps(plain: VecEnv, lean: VecEnv, steps: int) -> int:
    """Play the same actions in both; return the number of finished episodes."""
    plain.action_space.seed(1)
    ended = 0
    assert_same(plain.reset(), lean.reset())
    for _ in range(steps):
        actions = np.stack([plain.action_space.sample() for _ in range(plain.num_envs)])
        theirs, ours = plain.step(actions), lean.step(actions)
        for one, other in zip(theirs[:3], ours[:3], strict=True):
            assert_same(one, other)
        for n in np.flatnonzero(ours[2]):
            ended += 1
            assert_same_end(theirs[3][n], ours[3][n])
    return ended


def assert_same_end(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    assert theirs.keys() == ours.keys()
    assert_same(theirs["terminal_observation"], ours["terminal_observation"])
    assert theirs["TimeLimit.truncated"] == ours["TimeLimit.truncated"]
    for name in ("r", "l"):
        assert theirs["episode"][name] == ours["episode"][name]


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_every_step_is_the_same(env_id: str) -> None:
    plain, lean = both(lambda: gym.make(env_id))

    assert assert_same_steps(plain, lean, 700) >= 3


def test_every_step_with_dict_observations_is_the_same() -> None:
    assert assert_same_steps(*both(Map), 30) == 3 * 4


def test_returned_arrays_are_not_overwritten() -> None:
    lean = LeanVecEnv([Counter])

    returned = [lean.reset(), *(lean.step(np.array([0])) for _ in range(4))]

    first, *steps = returned
    assert first.tolist() == [[0]]
    assert [step[0].item() for step in steps] == [1, 2, 0, 1]
    assert steps[2][3][0]["terminal_observation"].tolist() == [3]
    assert [step[1].item() for step in steps] == [1, 1, 1, 1]


@pytest.mark.parametrize("frame_skip", [1, 4])
def test_episode_lengths_are_in_steps_of_the_agent(frame_skip: int) -> None:
    wrappers = {"frame_skip": frame_skip}
    request = RunRequest(env_id="CartPole-v1", algorithm="PPO", wrappers=wrappers)
    envs = make_training_envs(RunConfig.from_request(request).setup(), 2)
    envs.seed(3)
    envs.reset()
    ended: list[Any] = []

    for _ in range(100):
        *_, infos = envs.step(np.array([0, 1]))
        ended += [info["episode"] for info in infos if "episode" in info]

    assert all(envs.env_is_wrapped(Monitor))
    assert ended
    assert all(7 < episode["r"] < 20 for episode in ended)
    assert all(episode["l"] == math.ceil(episode["r"] / frame_skip) for episode in ended)


def test_a_replayed_episode_keeps_its_return() -> None:
    first, second = (LeanVecEnv([lambda: Replayable(gym.make("CartPole-v1"))]) for _ in range(2))
    first.seed(3)
    first.reset()
    for _ in range(5):
        first.step(np.array([0]))

    assert second.env_method("replay_episode", *first.env_method("current_episode")) == [True]

    infos: Any = [{}]
    while "episode" not in infos[0]:
        *_, infos = second.step(np.array([0]))
    assert infos[0]["episode"]["l"] == infos[0]["episode"]["r"] > 5
