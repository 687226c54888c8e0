"""Limits on the rate of requests and the number of open connections."""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from app.accounts import TooManyError

_MAX_KEYS = 20_000


class Rate:
    """A token bucket per key: allows bursts, but limits the rate."""

    def __init__(
        self,
        per_second: float,
        *,
        burst: int,
        max_keys: int = _MAX_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._max_keys = max_keys
        self._clock = clock
        self._left: dict[Hashable, tuple[float, float]] = {}

    def take(self, key: Hashable) -> None:
        """Take one token.

        Raises:
            TooManyError: if none is left.
        """
        now = self._clock()
        left, at = self._left.get(key, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._per_second)
        if left < 1:
            self._left[key] = (left, now)
            raise TooManyError((1 - left) / self._per_second)
        # The key used last moves to the end, so that the oldest key can be dropped.
        self._left.pop(key, None)
        self._left[key] = (left - 1, now)
        if len(self._left) > self._max_keys:
            self._left.pop(next(iter(self._left)))


class OpenConnections:
    """Counts and limits open connections per key."""

    _RETRY_AFTER_S = 10.0

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: dict[Hashable, int] = {}

    @contextmanager
    def counting(self, key: Hashable) -> Iterator[None]:
        """Count a connection while it is open.

        Raises:
            TooManyError: if too many are open already.
        """
        count = self._open.get(key, 0)
        if count >= self._limit:
            raise TooManyError(self._RETRY_AFTER_S, "open connections")
        self._open[key] = count + 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
