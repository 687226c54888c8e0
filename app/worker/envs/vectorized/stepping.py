"""Play several environments in turn, and spend as little as possible beside them."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.common.vec_env.base_vec_env import (
    VecEnvIndices,
    VecEnvObs,
    VecEnvStepReturn,
)


class LeanVecEnv(DummyVecEnv):
    """Returns what SB3's `DummyVecEnv` returns, without a deep copy of everything at each step.

    Only what an environment could change later is copied: the batch, and an episode's end.
    """

    def __init__(self, makers: Sequence[Callable[[], gym.Env[Any, Any]]]) -> None:
        super().__init__(list(makers))
        batches = list(self.buf_obs.values())
        has_parts = isinstance(self.observation_space, gym.spaces.Dict | gym.spaces.Tuple)
        self._batch: npt.NDArray[Any] | None = None if has_parts else batches[0]

    def step_wait(self) -> VecEnvStepReturn:
        """Do one step in each environment; where an episode ends, begin the next."""
        infos: list[dict[str, Any]] = []
        dones = np.zeros(self.num_envs, dtype=bool)
        for env_idx, action in enumerate(self.actions):
            obs, reward, terminated, truncated, info = self.envs[env_idx].step(action)
            self.buf_rews[env_idx] = reward
            if terminated or truncated:
                dones[env_idx] = True
                info = {
                    **info,
                    "TimeLimit.truncated": truncated and not terminated,
                    "terminal_observation": copy.deepcopy(obs),
                }
                obs, self.reset_infos[env_idx] = self.envs[env_idx].reset()
            infos.append(info)
            if self._batch is None:
                self._save_obs(env_idx, obs)
            else:
                self._batch[env_idx] = obs
        return self._obs_from_buf(), self.buf_rews.copy(), dones, infos

    def _obs_from_buf(self) -> VecEnvObs:
        return super()._obs_from_buf() if self._batch is None else self._batch.copy()

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Say of a `Monitor` that it is there: what it tells of episodes is told without one."""
        if wrapper_class is Monitor:
            return [True] * len(self._get_target_envs(indices))
        return super().env_is_wrapped(wrapper_class, indices)
