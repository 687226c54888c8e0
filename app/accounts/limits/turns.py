"""Turns at work that is slow on purpose: so many at once, and nobody keeps the others out."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from app.accounts.errors import BusyError


class Turns:
    """Lets so many work at once; those who wait are taken from each key in turn.

    Where too many wait, the last one of the longest queue goes: a crowd turns itself away.
    """

    def __init__(self, at_once: int, *, most_waiting: int) -> None:
        self._free = at_once
        self._most_waiting = most_waiting
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def one(self, key: Hashable) -> AsyncIterator[None]:
        """Wait for a turn, and let the next one work afterwards.

        Raises:
            BusyError: if too many wait.
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
        self._turn_away_if_crowded()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._pass_on()
            else:
                self._forget(key, turn)
            raise

    def _turn_away_if_crowded(self) -> None:
        if sum(map(len, self._waiting.values())) <= self._most_waiting:
            return
        longest = max(self._waiting, key=lambda key: len(self._waiting[key]))
        last = self._waiting[longest][-1]
        self._forget(longest, last)
        if not last.done():
            last.set_exception(BusyError())

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._next()
            # Who gave up a moment ago may still be in the queue.
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _next(self) -> asyncio.Future[None]:
        key = next(iter(self._waiting))
        queue = self._waiting.pop(key)
        turn = queue.popleft()
        if queue:
            # To the end: the others are first.
            self._waiting[key] = queue
        return turn

    def _forget(self, key: Hashable, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(key)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._waiting[key]
