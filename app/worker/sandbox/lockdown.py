"""Lock this process down for good, before it imports or runs anything that isn't ours.

Standard library only, one thread. What it protects against: reading and writing files, the
network, other processes, new programs, using up memory. What it does not protect against: a bug in
the kernel, side channels of the processor, a worker that lies about its own results.
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
_OPEN_FILES = 256
_LOCKED_MEMORY = 1 << 20

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
    """Apply every layer that this system has and return their names.

    `packages` are the folders of our own code that stay readable beside Python and its libraries.
    """
    layers = ["limits"]
    if sys.platform == "linux":
        with suppress(OSError):
            kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _be_the_first_to_go()
    _limit(memory_mb)
    if sys.platform != "linux":
        return layers
    _give_up_privileges()
    if abi := landlock.restrict(_readable(packages)):
        layers.append(f"landlock-{abi}")
    if seccomp.install():
        layers.append("seccomp")
    return layers


def restrict_fork_server(packages: Sequence[str]) -> None:
    """Apply to the fork server what lets it import and fork; each worker adds its own layers."""
    _be_the_first_to_go()
    _give_up_privileges()
    # Names below /proc: how many threads and open files it has.
    landlock.restrict(_readable(packages), listable=("/proc",))


def _readable(packages: Sequence[str]) -> tuple[str, ...]:
    return (sys.prefix, sys.base_prefix, *_SYSTEM_PATHS, *packages)


def _give_up_privileges() -> None:
    _drop_capabilities()
    kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _be_the_first_to_go() -> None:
    """When memory runs out the kernel ends this process, not the server."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("1000")


def _limit(memory_mb: int) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_MEMLOCK: _LOCKED_MEMORY,
        resource.RLIMIT_DATA: memory_mb << 20,
    }
    for which, most in limits.items():
        _, hard = resource.getrlimit(which)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (value, value))


def _drop_capabilities() -> None:
    """Give up root's powers; an ordinary user has none to give up."""
    for capability in range(_LAST_CAPABILITY + 1):
        with suppress(OSError):
            kernel.prctl(_PR_CAPBSET_DROP, capability)
    with suppress(OSError):
        kernel.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL_AMBIENT)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    none = bytes(24)
    if kernel.LIBC.capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
