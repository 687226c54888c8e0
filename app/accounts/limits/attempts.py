"""Limit attempts in a sliding time window."""

import time
from collections import deque
from collections.abc import Callable, Hashable

from app.accounts import TooManyError

_MAX_KEYS = 20_000


class Attempts:
    """Counts attempts per key in a sliding window."""

    def __init__(
        self,
        limit: int,
        *,
        within_s: float,
        max_keys: int = _MAX_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._within_s = within_s
        self._max_keys = max_keys
        self._clock = clock
        self._tries: dict[Hashable, deque[float]] = {}

    def check(self, key: Hashable, *, what: str = "attempts") -> None:
        """Check that one more attempt is allowed.

        Raises:
            TooManyError: if there were too many already.
        """
        now = self._clock()
        tries = self._recent(key, now)
        if len(tries) >= self._limit:
            raise TooManyError(tries[0] + self._within_s - now, what)

    def add(self, key: Hashable, *, what: str = "attempts") -> None:
        """Count an attempt.

        Raises:
            TooManyError: if there were too many already; this one isn't counted.
        """
        self.check(key, what=what)
        # The key used last moves to the end, so that the oldest key can be dropped.
        tries = self._tries.pop(key, deque[float]())
        tries.append(self._clock())
        self._tries[key] = tries
        if len(self._tries) > self._max_keys:
            self._tries.pop(next(iter(self._tries)))

    def take_back(self, key: Hashable) -> None:
        """Uncount the newest attempt: it turned out to be legitimate."""
        if tries := self._tries.get(key):
            tries.pop()
            if not tries:
                del self._tries[key]

    def _recent(self, key: Hashable, now: float) -> deque[float]:
        tries = self._tries.get(key, deque[float]())
        while tries and tries[0] <= now - self._within_s:
            tries.popleft()
        return tries
