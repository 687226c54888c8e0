"""Raw system calls through libc; standard library only, because this runs before the lock-down."""

import ctypes
import os
import platform

from app.worker.sandbox.syscalls import NUMBERS

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

ARCHITECTURE = platform.machine()
NUMBER = NUMBERS.get(ARCHITECTURE, {})
_PR_SET_NAME = 15


def call(name: str, *arguments: object) -> int:
    """Make the system call with this name.

    Raises:
        OSError: if the kernel refuses.
    """
    result: int = LIBC.syscall(ctypes.c_long(NUMBER[name]), *arguments)
    return _checked(result)


def prctl(option: int, *arguments: int) -> int:
    """Call `prctl`, which changes a property of this process.

    Raises:
        OSError: if the kernel refuses.
    """
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(LIBC.prctl(ctypes.c_int(option), *padded))


def name_process(name: str) -> None:
    """Set the name of this process in process lists; the kernel keeps at most 15 characters."""
    buffer = ctypes.create_string_buffer(name.encode())
    prctl(_PR_SET_NAME, ctypes.addressof(buffer))


def thread_count() -> int:
    """Return the number of threads of this process."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - pathlib would be one more import


def open_descriptors() -> set[int]:
    """Return the numbers of all open files, pipes and sockets of this process."""
    numbers = {int(name) for name in os.listdir("/proc/self/fd")}  # noqa: PTH208
    # One of them was opened to list the folder, and is closed by now.
    return {number for number in numbers if _is_open(number)}


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
