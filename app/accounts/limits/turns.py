"""Fair queue for slow work: limited concurrency, round-robin between keys."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from app.accounts import BusyError


class Turns:
    """Limits concurrency; waiting requests get their turn round-robin by key.

    If too many wait, the last one of the longest queue is refused, so that a flood from one key
    only affects itself.
    """

    def __init__(self, limit: int, *, max_waiting: int) -> None:
        self._free = limit
        self._max_waiting = max_waiting
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for a turn, and pass it on afterwards.

        Raises:
            BusyError: if too many requests wait.
        """
        await self._wait(key)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, key: Hashable) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(turn)
        self._refuse_if_full()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._pass_on()
            else:
                self._forget(key, turn)
            raise

    def _refuse_if_full(self) -> None:
        if sum(map(len, self._waiting.values())) <= self._max_waiting:
            return
        longest = max(self._waiting, key=lambda key: len(self._waiting[key]))
        last = self._waiting[longest][-1]
        self._forget(longest, last)
        if not last.done():
            last.set_exception(BusyError())

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._next()
            # A request that was just cancelled may still be in the queue.
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _next(self) -> asyncio.Future[None]:
        key = next(iter(self._waiting))
        queue = self._waiting.pop(key)
        turn = queue.popleft()
        if queue:
            # Back to the end, after the other keys.
            self._waiting[key] = queue
        return turn

    def _forget(self, key: Hashable, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(key)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._waiting[key]
