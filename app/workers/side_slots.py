"""The few workers that help beside training: tests come before pictures, clips come last."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class SideSlots:
    """Counts helpers; used as a context it is a place for somebody who only shows pictures."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._idle = 0
        self._tests_waiting = 0
        self._changed = asyncio.Event()

    def locked(self) -> bool:
        """Whether there is no place for pictures right now."""
        return self._taken >= self._limit or self._tests_waiting > 0

    async def until_wanted(self) -> None:
        """Return once a test waits for a place that somebody with pictures should leave."""
        await self._until(lambda: self._tests_waiting > 0 and self._is_full)

    @asynccontextmanager
    async def for_a_test(self) -> AsyncIterator[None]:
        """Wait for a place for a test; there is one even where nothing is shown live."""
        self._count(waiting=1)
        try:
            await self._until(lambda: not self._is_full)
        finally:
            self._count(waiting=-1)
        self._count(taken=1)
        try:
            yield
        finally:
            self._count(taken=-1)

    @asynccontextmanager
    async def left_over(self) -> AsyncIterator[None]:
        """Wait for a place that nobody else wants; see `until_displaced`."""
        await self._until(lambda: not self.locked() and self._taken + self._idle < self._limit)
        self._count(idle=1)
        try:
            yield
        finally:
            self._count(idle=-1)

    async def until_displaced(self) -> None:
        """Return once somebody has taken a place that was left over: nobody waits for it."""
        await self._until(lambda: self._taken + self._idle > self._limit)

    async def __aenter__(self) -> None:
        await self._until(lambda: not self.locked())
        self._count(taken=1)

    async def __aexit__(self, *_: object) -> None:
        self._count(taken=-1)

    @property
    def _is_full(self) -> bool:
        return self._taken >= max(1, self._limit)

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._changed.wait()

    def _count(self, *, taken: int = 0, waiting: int = 0, idle: int = 0) -> None:
        self._taken += taken
        self._idle += idle
        self._tests_waiting += waiting
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
