"""Tasks on the event loop that are kept alive and whose errors are logged."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


class Tasks:
    """The tasks of one owner, which cancels them together."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Result], *, name: str) -> asyncio.Task[Result]:
        """Run `work` concurrently."""
        # asyncio keeps only a weak reference to a task, so we keep a strong one.
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    async def complete(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of `work`, which continues if the caller is cancelled.

        Requests are cancelled when the server stops; what they store must not be half-made.
        """
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        # The caller gets its error; there is nothing to log.
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def wait(self, seconds: float) -> None:
        """Wait until all tasks have ended, for at most `seconds`."""
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)

    async def cancel(self) -> None:
        """Cancel all tasks and wait until they have ended."""
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            _log.error("Task %s failed", task.get_name(), exc_info=error)
