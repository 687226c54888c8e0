"""The fork server: imports what every worker needs once, then forks a worker per request.

It holds no data of users and runs none of their code. It must have one thread, because a forked
process has no other, and Landlock binds one thread only: it checks that before it serves.

Requests come as datagrams on descriptor 0 (`fork_protocol.py`). The worker itself answers, with its
process id first and then as any worker.
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

from app.protocol.fork_protocol import NOT_ALONE, PID, REQUEST
from app.worker import boot
from app.worker.sandbox import kernel, lockdown

WORKER_NAME = "rl-lab-worker"
"""What lists of processes show."""

_PIPES = 3
_FRAMES = 3
_SKIPPED = {"app.worker.boot", __name__}
_OWN_DESCRIPTORS = {0, 1, 2}


def serve(packages: Sequence[str]) -> None:
    """Fork workers for as long as the lab lives."""
    lab = os.getppid()
    kernel.name_process("rl-lab-fork")
    autogroup = boot.open_autogroup()
    lockdown.restrict_fork_server(packages)
    import_everything()
    # Not before: the lab waits for the imports.
    boot.give_way(autogroup)
    if what := _what_would_be_inherited():
        sys.stderr.write(f"The fork server can't be used: its imports left {what}.\n")
        sys.exit(NOT_ALONE)
    # The collector must not write to, and so copy, what all workers share.
    gc.collect()
    gc.freeze()
    requests = socket.socket(fileno=0)
    while True:
        request, pipes, _, _ = socket.recv_fds(requests, REQUEST.size, _PIPES)
        if not request:
            return
        (memory_mb,) = REQUEST.unpack(request)
        _fork_worker(lab, pipes, packages, memory_mb)


def import_everything() -> None:
    """Import all code of workers and with it torch and Stable-Baselines3."""
    from app.worker.compiler import import_torch

    # torch asks for a temporary folder while it is imported; there is none that can be written.
    tempfile.tempdir = "/"
    import_torch()
    import app.worker

    for module in pkgutil.walk_packages(app.worker.__path__, "app.worker."):
        if module.name not in _SKIPPED:
            importlib.import_module(module.name)


def _what_would_be_inherited() -> str | None:
    """Return what makes this process unfit to be forked, if anything does."""
    if (threads := kernel.thread_count()) != 1:
        return f"{threads - 1} threads running"
    if left_open := kernel.open_descriptors() - _OWN_DESCRIPTORS:
        return f"descriptors {sorted(left_open)} open"
    return None


def _fork_worker(lab: int, pipes: list[int], packages: Sequence[str], memory_mb: int) -> None:
    """Fork twice, so that the worker is an orphan, which the lab adopts: it waits for its end."""
    adopted, adopting = os.pipe()
    try:
        between = os.fork()
        if between == 0:
            os.close(adopting)
            _fork_orphan(lab, pipes, packages, memory_mb=memory_mb, adopted=adopted)
        os.waitpid(between, 0)
    except OSError as error:
        sys.stderr.write(f"No worker could be forked: {error}.\n")
    for descriptor in (adopting, adopted, *pipes):
        os.close(descriptor)


def _fork_orphan(
    lab: int, pipes: list[int], packages: Sequence[str], *, memory_mb: int, adopted: int
) -> NoReturn:
    try:
        if os.fork() == 0:
            # Closed once the process between is gone, and the lab is the parent. Before that,
            # the signal that ends a worker with its parent would end it at once.
            os.read(adopted, 1)
            if os.getppid() == lab:
                _become_worker(pipes)
                boot.run_worker(_FRAMES, packages, memory_mb=memory_mb)
    finally:
        os._exit(0)


def _become_worker(pipes: list[int]) -> None:
    """Have nothing in common with the siblings but code and session: descriptors, chance.

    The session is the fork server's, which has no terminal and gives way to the lab's.
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
