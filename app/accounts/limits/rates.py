"""How many requests per second somebody may make, and how many streams they may hold open."""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from app.accounts.errors import TooManyError

_MOST_KEYS = 20_000


class Rate:
    """A bucket of tokens for each key: a burst is fine, a flood is not."""

    def __init__(
        self,
        per_second: float,
        *,
        burst: int,
        most_keys: int = _MOST_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._most_keys = most_keys
        self._clock = clock
        self._left: dict[Hashable, tuple[float, float]] = {}

    def take(self, key: Hashable) -> None:
        """Use one token.

        Raises:
            TooManyError: if there is none left.
        """
        now = self._clock()
        left, at = self._left.get(key, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._per_second)
        if left < 1:
            self._left[key] = (left, now)
            raise TooManyError((1 - left) / self._per_second)
        # The one that was used last goes to the end, so that the oldest can be forgotten.
        self._left.pop(key, None)
        self._left[key] = (left - 1, now)
        if len(self._left) > self._most_keys:
            self._left.pop(next(iter(self._left)))


class OpenStreams:
    """Counts what is held open for each key."""

    _RETRY_AFTER_S = 10.0

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[Hashable, int] = {}

    @contextmanager
    def one_more(self, key: Hashable) -> Iterator[None]:
        """Count one while it is open.

        Raises:
            TooManyError: if there are too many already.
        """
        count = self._open.get(key, 0)
        if count >= self._most:
            raise TooManyError(self._RETRY_AFTER_S, "open connections")
        self._open[key] = count + 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
