"""How often somebody may try something before they have to wait."""

import time
from collections import deque
from collections.abc import Callable, Hashable

from app.accounts.errors import TooManyError

_MOST_KEYS = 20_000


class Attempts:
    """Counts tries in a sliding window, each kind of key for itself."""

    def __init__(
        self, most: int, *, within_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._within_s = within_s
        self._clock = clock
        self._tries: dict[Hashable, deque[float]] = {}

    def add(self, key: Hashable, *, what: str = "attempts") -> None:
        """Count a try.

        Raises:
            TooManyError: if there were too many already; this one isn't counted.
        """
        now = self._clock()
        tries = self._recent(key, now)
        if len(tries) >= self._most:
            raise TooManyError(tries[0] + self._within_s - now, what)
        tries.append(now)

    def take_back(self, key: Hashable) -> None:
        """Uncount the newest try: it turned out to be a good one."""
        if tries := self._tries.get(key):
            tries.pop()

    def _recent(self, key: Hashable, now: float) -> deque[float]:
        if len(self._tries) > _MOST_KEYS:
            self._forget_old(now)
        tries = self._tries.setdefault(key, deque())
        while tries and tries[0] <= now - self._within_s:
            tries.popleft()
        return tries

    def _forget_old(self, now: float) -> None:
        old = now - self._within_s
        self._tries = {
            key: tries for key, tries in self._tries.items() if tries and tries[-1] > old
        }
