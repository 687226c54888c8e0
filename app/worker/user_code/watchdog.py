"""End a person's code that takes too long, and say in which line it was.

Looking after it costs the code nothing: a timer looks at the stack twice a second. A call that
keeps Python itself busy (`sum(range(10**12))`) is beyond that timer; for those the stack is printed
without Python's help, and the lab, which hears nothing any more, finds the line there.
"""

import faulthandler
import signal
import time
from collections.abc import Callable
from types import FrameType

from app.protocol.user_code import FILES, LONGEST_CALL_S, HangingError

_LOOK_EVERY_S = 0.5
_PRINT_AFTER_S = LONGEST_CALL_S + 0.5
_STDERR = 2


class Watchdog:
    """Looks after all code of a person, from the main thread of a worker."""

    def __init__(self, *, if_stubborn: Callable[[HangingError], None]) -> None:
        """`if_stubborn` ends the worker when the code doesn't end although it was told to."""
        self._if_stubborn = if_stubborn
        self._call: FrameType | None = None
        """The call of a moment ago; held, so that no other frame can take its place in memory."""
        self._since = 0.0
        self._has_raised = False

    def start(self) -> None:
        """Look from now on, until the worker ends."""
        faulthandler.dump_traceback_later(_PRINT_AFTER_S, file=_STDERR)
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, _LOOK_EVERY_S, _LOOK_EVERY_S)
        # The very first call may keep Python busy for ever.
        faulthandler.dump_traceback_later(_PRINT_AFTER_S, file=_STDERR)

    def _look(self, _: int, frame: FrameType | None) -> None:
        faulthandler.dump_traceback_later(_PRINT_AFTER_S, file=_STDERR)
        inner, outer = self._own(frame)
        if outer is not self._call:
            self._call, self._since, self._has_raised = outer, time.monotonic(), False
        if inner is None or time.monotonic() - self._since < LONGEST_CALL_S:
            return
        error = HangingError(inner.f_code.co_filename, inner.f_lineno)
        if self._has_raised:
            self._if_stubborn(error)
        self._has_raised = True
        raise error

    def _own(self, frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
        """Return the innermost and the outermost frame that runs code of a person."""
        own = []
        while frame is not None:
            if frame.f_code.co_filename in FILES:
                own.append(frame)
            frame = frame.f_back
        return (own[0], own[-1]) if own else (None, None)
