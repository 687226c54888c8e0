"""Measure the returns of random actions while the worker is idle."""

import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym

from app.worker.tryout.episode import Episode

_EPISODES = 20
_TIME_BUDGET_S = 10.0
"""Total computing time; slow environments get fewer episodes."""


class RandomPlay:
    """Plays whole episodes in a separate environment, in short time slices."""

    def __init__(self, make: Callable[[], gym.Env[Any, Any]]) -> None:
        self._make = make
        self._episode: Episode | None = None
        self._spent_s = 0.0
        self.returns: list[float] = []
        """The return of each episode."""

    @property
    def is_over(self) -> bool:
        """Whether the measurement is complete."""
        return len(self.returns) >= _EPISODES or self._spent_s >= _TIME_BUDGET_S

    def play_for(self, seconds: float) -> None:
        """Continue playing for about this long."""
        began = time.monotonic()
        if self._episode is None:
            self._episode = Episode(self._make, new_env_each=False)
            self._episode.begin(0)
        while not self.is_over and time.monotonic() - began < seconds:
            if self._episode.act().is_over:
                self.returns.append(self._episode.current.return_)
                self._episode.begin(len(self.returns))
        self._spent_s += time.monotonic() - began
        if self.is_over:
            self._episode.env.close()
