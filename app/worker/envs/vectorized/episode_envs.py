"""Play episodes in copies of an environment, one episode in each, all at the same time."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn


class NewEachEpisode(gym.Wrapper[Any, Any, Any, Any]):
    """Replaces the environment by a new one for every seeded episode.

    Some keep a trace of earlier episodes: Box2D reuses the memory of its world, for example, which
    changes the order of contacts, so that the return of a seed depends on what was played before.
    """

    def __init__(self, make: Callable[[], gym.Env[Any, Any]]) -> None:
        super().__init__(make())
        self._make = make
        self._is_new = True

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        if options.get("seed") is not None and not self._is_new:
            self.env.close()
            self.env = self._make()
        self._is_new = False
        return self.env.reset(**options)


class EpisodeEnvs(DummyVecEnv):
    """Environments that stand still once their episode is over, until the next reset."""

    def __init__(self, makers: Sequence[Callable[[], gym.Env[Any, Any]]]) -> None:
        super().__init__(list(makers))
        self.is_playing = np.ones(self.num_envs, dtype=bool)

    def reset(self) -> VecEnvObs:
        """Begin an episode in each environment."""
        self.is_playing[:] = True
        return super().reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Do one step in each environment whose episode isn't over."""
        # In single precision like those of other vectorized environments.
        rewards = np.zeros(self.num_envs, dtype=np.float32)
        dones = np.zeros(self.num_envs, dtype=bool)
        infos: list[dict[str, Any]] = [{} for _ in self.envs]
        for index in np.flatnonzero(self.is_playing).tolist():
            env, action = self.envs[index], self.actions[index]
            observation, rewards[index], terminated, truncated, info = env.step(action)
            self._save_obs(index, observation)
            infos[index] = {**info, "TimeLimit.truncated": truncated and not terminated}
            if terminated or truncated:
                self.is_playing[index], dones[index] = False, True
                infos[index]["terminal_observation"] = observation
        return self._obs_from_buf(), rewards, dones, infos
