"""Find out what random actions are worth, in time that nothing else needs."""

import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym

from app.worker.tryout.episode import Episode

_EPISODES = 20
_EFFORT_S = 10.0
"""So much work it may be altogether; slow environments get fewer episodes."""


class RandomPlay:
    """Plays whole episodes in an environment of its own, a little at a time."""

    def __init__(self, make: Callable[[], gym.Env[Any, Any]]) -> None:
        self._make = make
        self._episode: Episode | None = None
        self._spent_s = 0.0
        self.returns: list[float] = []
        """What each episode was worth."""

    @property
    def is_over(self) -> bool:
        """Whether there is nothing more to find out."""
        return len(self.returns) >= _EPISODES or self._spent_s >= _EFFORT_S

    def go_on(self, seconds: float) -> None:
        """Play on for about so long."""
        began = time.monotonic()
        if self._episode is None:
            self._episode = Episode(self._make, makes_anew=False)
            self._episode.begin(0)
        while not self.is_over and time.monotonic() - began < seconds:
            if self._episode.act().is_over:
                self.returns.append(self._episode.now.return_)
                self._episode.begin(len(self.returns))
        self._spent_s += time.monotonic() - began
        if self.is_over:
            self._episode.env.close()
