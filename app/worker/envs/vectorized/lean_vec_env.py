"""Step several environments in turn, with as little overhead as possible."""

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
    """An equivalent of SB3's `DummyVecEnv` that does not deep-copy everything at each step.

    It copies only what an environment could overwrite: the batch, and terminal observations.
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
        """Report a `Monitor` as present: its statistics are provided without one."""
        if wrapper_class is Monitor:
            return [True] * len(self._get_target_envs(indices))
        return super().env_is_wrapped(wrapper_class, indices)
