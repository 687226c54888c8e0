"""Raw system calls through libc; standard library only, because it runs before the lock-down."""

import ctypes
import os
import platform

from app.worker.syscalls import NUMBERS

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

ARCHITECTURE = platform.machine()
NUMBER = NUMBERS.get(ARCHITECTURE, {})


def call(name: str, *arguments: object) -> int:
    """Make a system call by its name.

    Raises:
        OSError: if the kernel refuses.
    """
    result: int = LIBC.syscall(ctypes.c_long(NUMBER[name]), *arguments)
    return _checked(result)


def prctl(option: int, *arguments: int) -> int:
    """Change a property of this process.

    Raises:
        OSError: if the kernel refuses.
    """
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(LIBC.prctl(ctypes.c_int(option), *padded))


def thread_count() -> int:
    """Return how many threads this process has."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - pathlib would be one more import


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
