"""The base class of vectorized environments that step all environments in one call."""

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from app.worker.envs.replayable import EpisodeSoFar


class BatchVecEnv(VecEnv):
    """Provides what `Monitor` and `Replayable` provide for separate environments."""

    def __init__(
        self, n_envs: int, observation_space: gym.Space[Any], action_space: gym.Space[Any]
    ) -> None:
        super().__init__(n_envs, observation_space, action_space)
        self._made_at = time.time()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of each environment."""
        return [self._attribute(attr_name, index) for index in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:  # noqa: ANN401, ARG002 - SB3's
        """Raise an error: all environments share one simulation.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{attr_name!r} can't be set: the environments share one simulation.")

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **named: Any
    ) -> list[Any]:
        """Call `reset` or a method of `Replayable` for each environment.

        Raises:
            AttributeError: if it is another method.
        """
        methods: dict[str, Callable[..., Any]] = {
            "reset": self._reset_one,
            "current_episode": self._current_episode,
            "replay_episode": self._replay_episode,
        }
        if method_name not in methods:
            raise AttributeError(f"The environments have no method {method_name!r}.")
        method = methods[method_name]
        return [method(index, *method_args, **named) for index in self._get_indices(indices)]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Report a `Monitor` as present: its statistics are provided without one."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def _end_info(
        self, episode_return: float, length: int, observation: NDArray[Any], *, is_truncated: bool
    ) -> dict[str, Any]:
        """Return the `info` of the last step of an episode."""
        seconds = round(time.time() - self._made_at, 6)
        return {
            "episode": {"r": round(episode_return, 6), "l": length, "t": seconds},
            "TimeLimit.truncated": is_truncated,
            "terminal_observation": observation,
        }

    @abstractmethod
    def _attribute(self, name: str, index: int) -> Any:  # noqa: ANN401 - any attribute
        """Return an attribute of one environment; raise `AttributeError` if there is none."""

    @abstractmethod
    def _reset_one(self, index: int, **options: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in one environment; return its first observation and info."""

    @abstractmethod
    def _current_episode(self, index: int) -> EpisodeSoFar:
        """Return one environment's current episode, for a replay."""

    @abstractmethod
    def _replay_episode(self, index: int, episode: EpisodeSoFar) -> bool:
        """Replay an episode in one environment; return whether it leads to the same observation."""
