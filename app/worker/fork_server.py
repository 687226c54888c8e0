"""The fork server: imports what every worker needs once, then forks a worker per request.

It holds no user data and runs no user code. It must be single-threaded, because fork only copies
the calling thread and Landlock only restricts one thread: it checks that before it serves.

Requests arrive as datagrams on descriptor 0 (`fork_protocol.py`). The worker itself answers: first
with its process id, then like any worker.
"""

import gc
import importlib
import os
import pkgutil
import random
import resource
import socket
import sys
import tempfile
from collections.abc import Sequence
from typing import NoReturn

from app.protocol.fork_protocol import CANNOT_FORK, PID, REQUEST
from app.worker import boot
from app.worker.sandbox import kernel, lockdown

WORKER_NAME = "rl-lab-worker"
"""The name of a worker in process lists."""

_PIPES = 3
_FRAMES = 3
_SKIPPED = {"app.worker.boot", __name__}
_OWN_DESCRIPTORS = {0, 1, 2}


def serve(packages: Sequence[str]) -> None:
    """Fork workers until the web process ends."""
    lab_pid = os.getppid()
    kernel.name_process("rl-lab-fork")
    autogroup = boot.open_autogroup()
    lockdown.restrict_fork_server(packages)
    import_everything()
    # Not earlier: the web process waits for the imports.
    boot.lower_priority(autogroup)
    if leftovers := _why_fork_is_unsafe():
        sys.stderr.write(f"The fork server can't be used: its imports left {leftovers}.\n")
        sys.exit(CANNOT_FORK)
    # The garbage collector must not write to pages that the workers share: that would copy them.
    gc.collect()
    gc.freeze()
    requests = socket.socket(fileno=0)
    while True:
        request, pipes, _, _ = socket.recv_fds(requests, REQUEST.size, _PIPES)
        if not request:
            return
        (memory_mb,) = REQUEST.unpack(request)
        _fork_worker(lab_pid, pipes, packages, memory_mb)


def import_everything() -> None:
    """Import all worker code, including torch and Stable-Baselines3."""
    from app.worker.compiler import import_torch

    # torch looks for a temporary folder during import, and none is writable.
    tempfile.tempdir = "/"
    import_torch()
    import app.worker

    for module in pkgutil.walk_packages(app.worker.__path__, "app.worker."):
        if module.name not in _SKIPPED:
            importlib.import_module(module.name)


def _why_fork_is_unsafe() -> str | None:
    """Return the threads or descriptors that make a fork of this process unsafe, if any."""
    if (threads := kernel.thread_count()) != 1:
        return f"{threads - 1} threads running"
    if left_open := kernel.open_descriptors() - _OWN_DESCRIPTORS:
        return f"descriptors {sorted(left_open)} open"
    return None


def _fork_worker(lab_pid: int, pipes: list[int], packages: Sequence[str], memory_mb: int) -> None:
    """Fork twice: the worker is orphaned, so that the web process adopts and reaps it."""
    wait_end, release_end = os.pipe()
    try:
        intermediate = os.fork()
        if intermediate == 0:
            os.close(release_end)
            _fork_orphan(lab_pid, pipes, packages, memory_mb=memory_mb, wait_end=wait_end)
        os.waitpid(intermediate, 0)
    except OSError as error:
        sys.stderr.write(f"No worker could be forked: {error}.\n")
    for descriptor in (release_end, wait_end, *pipes):
        os.close(descriptor)


def _fork_orphan(
    lab_pid: int, pipes: list[int], packages: Sequence[str], *, memory_mb: int, wait_end: int
) -> NoReturn:
    try:
        if os.fork() == 0:
            # The pipe closes once the intermediate process has exited and the web process is the
            # parent. Earlier, the parent-death signal would kill the worker at once.
            os.read(wait_end, 1)
            if os.getppid() == lab_pid:
                _become_worker(pipes)
                boot.run_worker(_FRAMES, packages, memory_mb=memory_mb)
    finally:
        os._exit(0)


def _become_worker(pipes: list[int]) -> None:
    """Separate this process from its siblings: own group, name, descriptors and random seeds.

    The session stays the fork server's, which has no terminal and a low priority.
    """
    import numpy as np
    import torch

    os.setpgid(0, 0)
    kernel.name_process(WORKER_NAME)
    commands, frames, printed = pipes
    os.write(frames, PID.pack(os.getpid()))
    os.dup2(commands, 0)
    os.dup2(printed, 2)
    os.dup2(2, 1)
    os.dup2(frames, _FRAMES)
    os.closerange(_FRAMES + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    random.seed()
    np.random.seed()
    torch.seed()
