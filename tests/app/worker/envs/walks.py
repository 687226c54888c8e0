"""An environment that no policy masters, and models that train on it, to compare engines by."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize


class Walk(gym.Env[Any, Any]):
    """Random observations; rewards depend on the action, some episodes end, some are cut."""

    def __init__(self, seen: gym.Space[Any], done: gym.Space[Any], *, worth: int) -> None:
        self.observation_space = seen
        self.action_space = done
        self._worth = worth

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(1 << 30)))
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        ends, is_cut = self.np_random.random(2) < 0.1
        reward = float(self.np_random.normal() + self._worth * action.sum())
        return self.observation_space.sample(), reward, bool(ends), bool(is_cut), {}


def build_on(make: Callable[[], Walk], kind: type[Any], *, scaled: bool, **values: Any) -> Any:
    """Return a model for two of these; its network is small unless the values say otherwise."""
    envs: VecEnv = DummyVecEnv([make] * 2)
    if scaled:
        envs = VecNormalize(envs)
    arguments = {"policy_kwargs": {"net_arch": [8]}, **values}
    model = kind("MlpPolicy", envs, seed=7, device="cpu", **arguments)
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model
