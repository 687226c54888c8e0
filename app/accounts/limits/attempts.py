"""How often somebody may try something before they have to wait."""

import time
from collections import deque
from collections.abc import Callable, Hashable

from app.accounts.errors import TooManyError

_MOST_KEYS = 20_000


class Attempts:
    """Counts tries in a sliding window, each kind of key for itself."""

    def __init__(
        self,
        most: int,
        *,
        within_s: float,
        most_keys: int = _MOST_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._within_s = within_s
        self._most_keys = most_keys
        self._clock = clock
        self._tries: dict[Hashable, deque[float]] = {}

    def check(self, key: Hashable, *, what: str = "attempts") -> None:
        """Make sure that one more try is allowed.

        Raises:
            TooManyError: if there were too many already.
        """
        now = self._clock()
        tries = self._recent(key, now)
        if len(tries) >= self._most:
            raise TooManyError(tries[0] + self._within_s - now, what)

    def add(self, key: Hashable, *, what: str = "attempts") -> None:
        """Count a try.

        Raises:
            TooManyError: if there were too many already; this one isn't counted.
        """
        self.check(key, what=what)
        # The one that was used last goes to the end, so that the oldest can be forgotten.
        tries = self._tries.pop(key, deque[float]())
        tries.append(self._clock())
        self._tries[key] = tries
        if len(self._tries) > self._most_keys:
            self._tries.pop(next(iter(self._tries)))

    def take_back(self, key: Hashable) -> None:
        """Uncount the newest try: it turned out to be a good one."""
        if tries := self._tries.get(key):
            tries.pop()
            if not tries:
                del self._tries[key]

    def _recent(self, key: Hashable, now: float) -> deque[float]:
        tries = self._tries.get(key, deque[float]())
        while tries and tries[0] <= now - self._within_s:
            tries.popleft()
        return tries
