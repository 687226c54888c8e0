"""Lock this process down irreversibly, before it imports or runs any untrusted code.

Standard library only, one thread. It protects against: reading and writing files, network access,
access to other processes, starting programs, exhausting memory. It does not protect against: kernel
bugs, CPU side channels, a worker that reports false results.
"""

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress

from app.worker.sandbox import kernel, landlock, seccomp

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 24, 38, 47
_CLEAR_ALL_AMBIENT = 4
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_MAX_OPEN_FILES = 256
_MAX_LOCKED_MEMORY = 1 << 20

_SYSTEM_PATHS = (
    "/usr/lib",
    "/usr/lib64",
    "/lib",
    "/lib64",
    "/usr/share/zoneinfo",
    "/usr/share/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
)


def lock_down(packages: Sequence[str], *, memory_mb: int) -> list[str]:
    """Apply every layer that this system supports and return their names.

    `packages` are folders of our own code; they stay readable, as do Python and its libraries.
    """
    layers = ["limits"]
    if sys.platform == "linux":
        with suppress(OSError):
            kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _prefer_for_oom_kill()
    _limit(memory_mb)
    if sys.platform != "linux":
        return layers
    _drop_privileges()
    if abi := landlock.restrict(_readable(packages)):
        layers.append(f"landlock-{abi}")
    if seccomp.install():
        layers.append("seccomp")
    return layers


def restrict_fork_server(packages: Sequence[str]) -> None:
    """Restrict the fork server as far as it can still import and fork; workers add more layers."""
    _prefer_for_oom_kill()
    _drop_privileges()
    # It lists folders below /proc to count its threads and open files.
    landlock.restrict(_readable(packages), listable=("/proc",))


def _readable(packages: Sequence[str]) -> tuple[str, ...]:
    return (sys.prefix, sys.base_prefix, *_SYSTEM_PATHS, *packages)


def _drop_privileges() -> None:
    _drop_capabilities()
    kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _prefer_for_oom_kill() -> None:
    """Make the kernel kill this process, not the server, when memory runs out."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")


def _limit(memory_mb: int) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _MAX_OPEN_FILES,
        resource.RLIMIT_MEMLOCK: _MAX_LOCKED_MEMORY,
        resource.RLIMIT_DATA: memory_mb << 20,
    }
    for name, limit in limits.items():
        _, hard = resource.getrlimit(name)
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(name, (value, value))


def _drop_capabilities() -> None:
    """Drop all capabilities of root; ordinary users have none."""
    for capability in range(_LAST_CAPABILITY + 1):
        with suppress(OSError):
            kernel.prctl(_PR_CAPBSET_DROP, capability)
    with suppress(OSError):
        kernel.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL_AMBIENT)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    none = bytes(24)
    if kernel.LIBC.capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
