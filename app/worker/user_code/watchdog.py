"""Interrupt user code that takes too long, and report the line it was in.

This costs the code nothing: a timer inspects the stack twice a second. That timer can't interrupt a
single long C call (`sum(range(10**12))`); for those `faulthandler` prints the stack, and the web
process, which receives no more messages, reads the line from that print.
"""

import faulthandler
import signal
import time
from collections.abc import Callable
from types import FrameType

from app.protocol import LONGEST_CALL_S, USER_CODE_FILES, HangingError

_CHECK_EVERY_S = 0.5
_PRINT_AFTER_S = LONGEST_CALL_S + 0.5
_STDERR = 2


class Watchdog:
    """Watches all user code that runs in the main thread of a worker."""

    def __init__(self, *, on_timeout_ignored: Callable[[HangingError], None]) -> None:
        """Call `on_timeout_ignored` if the code catches the `HangingError` and continues."""
        self._on_timeout_ignored = on_timeout_ignored
        self._call: FrameType | None = None
        """The call seen last; the reference keeps its address from being reused by a new frame."""
        self._since = 0.0
        self._has_raised = False

    def start(self) -> None:
        """Watch from now on, until the worker ends."""
        faulthandler.dump_traceback_later(_PRINT_AFTER_S, file=_STDERR)
        signal.signal(signal.SIGALRM, self._check)
        signal.setitimer(signal.ITIMER_REAL, _CHECK_EVERY_S, _CHECK_EVERY_S)
        # The very first call may block the interpreter forever.
        faulthandler.dump_traceback_later(_PRINT_AFTER_S, file=_STDERR)

    def _check(self, _: int, frame: FrameType | None) -> None:
        faulthandler.dump_traceback_later(_PRINT_AFTER_S, file=_STDERR)
        inner, outer = self._user_frames(frame)
        if outer is not self._call:
            self._call, self._since, self._has_raised = outer, time.monotonic(), False
        if inner is None or time.monotonic() - self._since < LONGEST_CALL_S:
            return
        error = HangingError(inner.f_code.co_filename, inner.f_lineno)
        if self._has_raised:
            self._on_timeout_ignored(error)
        self._has_raised = True
        raise error

    def _user_frames(self, frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
        """Return the innermost and the outermost frame of user code."""
        found = []
        while frame is not None:
            if frame.f_code.co_filename in USER_CODE_FILES:
                found.append(frame)
            frame = frame.f_back
        return (found[0], found[-1]) if found else (None, None)
