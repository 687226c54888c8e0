"""Threads of their own for the database and the disk, so that the event loop never waits."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from storage.database.database import naming_outages
from storage.errors import DatabaseLockedError, NotWrittenError

P = ParamSpec("P")
T = TypeVar("T")

_WAIT_FOR_LOCK_S = 5.0
_LOOK_AGAIN_S = 0.05
_TRY_AGAIN_S = 1.0

_log = logging.getLogger(__name__)


class StorageThread:
    """Runs storage calls; with one thread, one after another in the order they were made."""

    def __init__(self, threads: int = 1) -> None:
        self._thread = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="storage")

    async def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function` on the storage thread and return its result.

        Raises:
            NotWrittenError: if the disk is full, or the database stays locked for seconds.
        """
        loop = asyncio.get_running_loop()
        call = partial(_naming_outages, partial(function, *args, **kwargs))
        deadline = loop.time() + _WAIT_FOR_LOCK_S
        while True:
            try:
                return await loop.run_in_executor(self._thread, call)
            except DatabaseLockedError:
                if loop.time() > deadline:
                    raise
            # Not on the thread: others can read while this one waits.
            await asyncio.sleep(_LOOK_AGAIN_S)

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function` on the storage thread and wait for it; for start and end only."""
        return self._thread.submit(partial(function, *args, **kwargs)).result()

    def close(self) -> None:
        """Wait for what is under way and end the thread."""
        self._thread.shutdown(wait=True)


async def until_written(write: Callable[[], Awaitable[T]], what: str) -> T:
    """Call `write` again and again until the database takes it."""
    was_told = False
    while True:
        try:
            return await write()
        except NotWrittenError as error:
            if not was_told:
                _log.warning("%s waits to be written down: %s", what, error)
            was_told = True
        await asyncio.sleep(_TRY_AGAIN_S)


def _naming_outages(call: Callable[[], T]) -> T:
    with naming_outages():
        return call()
