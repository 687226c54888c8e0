"""Threads of their own for the database and the disk, so that the event loop never waits."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class StorageThread:
    """Runs storage calls; with one thread, one after another in the order they were made."""

    def __init__(self, threads: int = 1) -> None:
        self._thread = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="storage")

    async def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function` on the storage thread and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(function, *args, **kwargs))

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function` on the storage thread and wait for it; for start and end only."""
        return self._thread.submit(partial(function, *args, **kwargs)).result()

    def close(self) -> None:
        """Wait for what is under way and end the thread."""
        self._thread.shutdown(wait=True)
