"""Limit the side workers: jobs that users wait for come first, then live views, then clips."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class SideSlots:
    """Counts side workers; as a context manager it is a slot for a live view."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._idle = 0
        self._priority_waiting = 0
        self._changed = asyncio.Event()

    def locked(self) -> bool:
        """Whether there is no slot for a live view right now."""
        return self._taken >= self._limit or self._priority_waiting > 0

    async def until_requested(self) -> None:
        """Return once a priority job waits for a slot that a live view should yield."""
        await self._until(lambda: self._priority_waiting > 0 and self._is_full)

    @asynccontextmanager
    async def priority_slot(self) -> AsyncIterator[None]:
        """Wait for a slot for a priority job; there is one even if the limit is 0."""
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
    async def idle_slot(self) -> AsyncIterator[None]:
        """Wait for a slot that no other job needs; see `until_preempted`."""
        await self._until(lambda: not self.locked() and self._taken + self._idle < self._limit)
        self._count(idle=1)
        try:
            yield
        finally:
            self._count(idle=-1)

    async def until_preempted(self) -> None:
        """Return once another job has taken an idle slot; it doesn't wait for its release."""
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
        self._priority_waiting += waiting
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
