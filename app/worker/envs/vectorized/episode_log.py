"""What was done and earned in the episodes that are under way."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from app.worker.envs.vectorized.world import Numbers


class EpisodeLog:
    """The last steps of all copies: as many as an episode can have, the oldest written over."""

    def __init__(self, size: int, n_envs: int, actions: gym.Space[Any]) -> None:
        """Keep `size` steps of each copy."""
        assert actions.shape is not None
        # Not filled: memory that no episode reaches is never used.
        self._actions = np.empty((size, n_envs, *actions.shape), dtype=actions.dtype)
        self._rewards = np.empty((size, n_envs))
        self._size = size
        self._next = 0

    def add(self, actions: NDArray[Any], rewards: Numbers) -> None:
        """Note one step."""
        self._actions[self._next] = actions
        self._rewards[self._next] = rewards
        self._next = (self._next + 1) % self._size

    def actions(self, count: int, copy: int) -> list[Any]:
        """Return the last actions of a copy."""
        return list(self._actions[self._rows(count), copy])

    def rewards(self, count: int, copy: int) -> list[float]:
        """Return the last rewards of a copy."""
        rewards: list[float] = self._rewards[self._rows(count), copy].tolist()
        return rewards

    def rewrite(self, copy: int, actions: list[Any], rewards: list[Any]) -> None:
        """Replace the last actions and rewards of a copy."""
        which = self._rows(len(actions))
        self._actions[which, copy] = actions
        self._rewards[which, copy] = rewards

    def _rows(self, count: int) -> NDArray[np.int64]:
        return np.arange(self._next - count, self._next) % self._size
