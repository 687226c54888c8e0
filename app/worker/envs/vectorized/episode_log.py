"""Actions and rewards of the current episodes."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from app.worker.envs.vectorized.dynamics import Numbers


class EpisodeLog:
    """A ring buffer of the last steps of all environments, as long as the longest episode."""

    def __init__(self, size: int, n_envs: int, actions: gym.Space[Any]) -> None:
        """Keep `size` steps of each environment."""
        assert actions.shape is not None
        # Uninitialized: pages that no episode reaches take no memory.
        self._actions = np.empty((size, n_envs, *actions.shape), dtype=actions.dtype)
        self._rewards = np.empty((size, n_envs))
        self._size = size
        self._next = 0

    def add(self, actions: NDArray[Any], rewards: Numbers) -> None:
        """Add one step."""
        self._actions[self._next] = actions
        self._rewards[self._next] = rewards
        self._next = (self._next + 1) % self._size

    def actions(self, count: int, index: int) -> list[Any]:
        """Return the last `count` actions of an environment."""
        return list(self._actions[self._rows(count), index])

    def rewards(self, count: int, index: int) -> list[float]:
        """Return the last `count` rewards of an environment."""
        rewards: list[float] = self._rewards[self._rows(count), index].tolist()
        return rewards

    def rewrite(self, index: int, actions: list[Any], rewards: list[Any]) -> None:
        """Replace the last actions and rewards of an environment."""
        which = self._rows(len(actions))
        self._actions[which, index] = actions
        self._rewards[which, index] = rewards

    def _rows(self, count: int) -> NDArray[np.int64]:
        return np.arange(self._next - count, self._next) % self._size
