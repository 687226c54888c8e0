"""Landlock: deny access to all paths but a few that may be read."""

import ctypes
import os
import struct
from collections.abc import Iterable
from enum import IntFlag

from app.worker.sandbox import kernel


class Access(IntFlag):
    """Access rights to files, as the kernel's bits."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


_RIGHTS_OF_VERSION_1 = (1 << 13) - 1
_ON_FILES = Access.EXECUTE | Access.WRITE_FILE | Access.READ_FILE | Access.TRUNCATE
_READ = Access.READ_FILE | Access.READ_DIR
_TCP_BIND_AND_CONNECT = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3
_QUERY_VERSION = 1
_PATH_BENEATH = 1
_ALL_THREADS = 1 << 3


def version() -> int:
    """Return the kernel's Landlock version, or 0 if it has no Landlock."""
    try:
        return kernel.call(
            "landlock_create_ruleset", None, ctypes.c_size_t(0), ctypes.c_uint32(_QUERY_VERSION)
        )
    except (OSError, KeyError):
        return 0


def restrict(readable: Iterable[str], listable: Iterable[str] = ()) -> int:
    """Restrict this thread and its descendants to the `readable` paths and /dev/null.

    `listable` folders can be listed, but their files can't be read.

    Everything that the kernel's version can forbid is forbidden: writing, executing,
    TCP, signals to other processes. Returns that version, or 0 if there is none.

    Raises:
        RuntimeError: if other threads run, which versions before 8 would not restrict.
    """
    supported = version()
    if supported == 0:
        return 0
    if supported < 8 and kernel.thread_count() != 1:
        raise RuntimeError(
            "Landlock restricts one thread only: lock down before anything starts threads."
        )
    ruleset = _create_ruleset(supported)
    try:
        for path in readable:
            _allow(ruleset, path, _READ)
        for path in listable:
            _allow(ruleset, path, Access.READ_DIR)
        _allow(ruleset, "/dev/null", _READ | Access.WRITE_FILE)
        flags = _ALL_THREADS if supported >= 8 else 0
        kernel.call("landlock_restrict_self", ctypes.c_int(ruleset), ctypes.c_uint32(flags))
    finally:
        os.close(ruleset)
    return supported


def _create_ruleset(supported: int) -> int:
    handled = _RIGHTS_OF_VERSION_1
    for since, right in ((2, Access.REFER), (3, Access.TRUNCATE), (5, Access.IOCTL_DEV)):
        if supported >= since:
            handled |= right
    network = _TCP_BIND_AND_CONNECT if supported >= 4 else 0
    scopes = _ABSTRACT_SOCKETS_AND_SIGNALS if supported >= 6 else 0
    size = 24 if supported >= 6 else 16 if supported >= 4 else 8
    attributes = ctypes.create_string_buffer(struct.pack("=QQQ", handled, network, scopes), 24)
    return kernel.call(
        "landlock_create_ruleset", attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)
    )


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112 - pathlib would be one more import
            rights &= _ON_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
        kernel.call(
            "landlock_add_rule",
            ctypes.c_int(ruleset),
            ctypes.c_int(_PATH_BENEATH),
            rule,
            ctypes.c_uint32(0),
        )
    finally:
        os.close(descriptor)
