"""Threads for database and disk access, so that the event loop never blocks."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from storage import DatabaseLockedError, NotWrittenError
from storage.database import translate_outages

P = ParamSpec("P")
T = TypeVar("T")

_WAIT_FOR_LOCK_S = 5.0
_LOCK_RETRY_S = 0.05
_WRITE_RETRY_S = 1.0

_log = logging.getLogger(__name__)


class StorageThread:
    """Runs storage calls on its own threads; with one thread, in the order of the calls."""

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
            # Sleep on the event loop, not on the thread: other calls can run meanwhile.
            await asyncio.sleep(_LOCK_RETRY_S)

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function` on the storage thread and block; only for start-up and shutdown."""
        return self._thread.submit(partial(function, *args, **kwargs)).result()

    def close(self) -> None:
        """Wait for pending calls and end the threads."""
        self._thread.shutdown(wait=True)


async def until_written(write: Callable[[], Awaitable[T]], what: str) -> T:
    """Retry `write` until the database accepts it; `what` names it in the log."""
    is_logged = False
    while True:
        try:
            return await write()
        except NotWrittenError as error:
            if not is_logged:
                _log.warning("%s is not saved yet: %s", what, error)
            is_logged = True
        await asyncio.sleep(_WRITE_RETRY_S)


def _naming_outages(call: Callable[[], T]) -> T:
    with translate_outages():
        return call()
