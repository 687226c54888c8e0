"""Limit how much user code may print."""

import sys
import time
from typing import TextIO

from app.protocol import USER_CODE_FILES
from app.worker.user_code.loader import FloodError

_BURST = 1 << 20
_PER_SECOND = 4 << 10
"""Code that prints less than this on average never reaches the limit."""


class Prints:
    """Replaces `sys.stdout` and `sys.stderr`, and limits the rate of what is printed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._left = float(_BURST)
        self._updated_at = time.monotonic()

    def write(self, text: str) -> int:
        """Print the text, unless that exceeds the limit.

        Raises:
            FloodError: if user code exceeds it. Excess text of other code is dropped.
        """
        now = time.monotonic()
        self._left = min(_BURST, self._left + (now - self._updated_at) * _PER_SECOND)
        self._updated_at = now
        if len(text) > self._left:
            if self._is_printed_by_user_code():
                raise FloodError(_BURST >> 20)
            return len(text)
        self._left -= len(text)
        return self._stream.write(text)

    def _is_printed_by_user_code(self) -> bool:
        frame = sys._getframe(1)
        while frame.f_back is not None:
            if frame.f_code.co_filename in USER_CODE_FILES:
                return True
            frame = frame.f_back
        return False

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
