"""Handling of Ctrl-C: the first one stops the work, the second one exits at once."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Self

from app.cli.console import say
from app.core import Tasks
from storage import WrongStateError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SIGNAL_EXIT_CODE = 128
"""Shells add this to the number of a signal to get the exit code."""


class Interrupts:
    """Calls `stop` at the first Ctrl-C or SIGTERM and ends the program at the second."""

    def __init__(self, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.code = 0
        """The exit code after a signal; 0 before."""
        self._stop = stop
        self._tasks = Tasks()

    @property
    def note(self) -> str:
        """The message after a signal; empty before."""
        return (
            ("Stopping; the model is saved. Press Ctrl-C again to exit at once.")
            if self.code
            else ""
        )

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._interrupt, number)
        return self

    def __exit__(self, *_: object) -> None:
        for number in _SIGNALS:
            asyncio.get_running_loop().remove_signal_handler(number)

    def _interrupt(self, number: signal.Signals) -> None:
        if self.code:
            say("Exited at once. Undelivered data is lost.")
            # Workers end when their pipe is closed.
            os._exit(self.code)
        self.code = _SIGNAL_EXIT_CODE + number
        self._tasks.start(self._request_stop(), name="stop after a signal")

    async def _request_stop(self) -> None:
        # It may have ended in the meantime.
        with suppress(WrongStateError):
            await self._stop()
