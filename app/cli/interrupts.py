"""Ctrl-C while something is under way: the first one asks it to end, the second one doesn't."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Self

from app.cli.console import say
from app.core.tasks import Tasks
from storage.errors import WrongStateError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_BY_SIGNAL = 128
"""What a shell adds to a signal's number to make an exit code."""


class Interrupts:
    """Calls `stop` at the first Ctrl-C or SIGTERM and ends the program at the second."""

    def __init__(self, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.code = 0
        """The exit code that the signal asks for; 0 while there was none."""
        self._stop = stop
        self._tasks = Tasks()

    @property
    def note(self) -> str:
        """What to say about it; nothing while there was none."""
        return "Stopping; the model is kept. Ctrl-C again ends at once." if self.code else ""

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._interrupt, number)
        return self

    def __exit__(self, *_: object) -> None:
        for number in _SIGNALS:
            asyncio.get_running_loop().remove_signal_handler(number)

    def _interrupt(self, number: signal.Signals) -> None:
        if self.code:
            say("Ended at once. What was not delivered is lost.")
            # The workers notice the closed pipe and end, too.
            os._exit(self.code)
        self.code = _BY_SIGNAL + number
        self._tasks.start(self._ask(), name="stop what is under way")

    async def _ask(self) -> None:
        # It may have ended by itself meanwhile.
        with suppress(WrongStateError):
            await self._stop()
