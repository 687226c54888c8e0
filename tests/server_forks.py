"""Servers that start quickly: forked from a process with all imports of servers and workers.

A test that starts its own lab would otherwise spend four seconds of CPU time on imports: two for
`main.py`, two for its fork server, which waits until the lab needs it. Everything after the imports
is the unchanged program; tests of the start itself spawn servers normally.
"""

import ast
import atexit
import gc
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import psutil

from app.worker import boot, fork_server
from app.worker.sandbox import kernel
from app.workers import worker_process

ROOT = Path(__file__).parent.parent
MAIN = ROOT / "main.py"
_PR_SET_PDEATHSIG = 1
_ADDRESS = "TEST_SERVER_FORKS"
"""Variable with the socket of the process that forks servers for all pytest processes, if any."""

Spawn = Callable[[socket.socket], subprocess.Popen[bytes]]


def fork_main(environment: dict[str, str], output: Path) -> psutil.Process:
    """Start `main.py` with only these variables; its output is written to a file."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ.get(_ADDRESS) or _start_parent())
        connection.sendall(json.dumps({"environment": environment, "output": str(output)}).encode())
        connection.shutdown(socket.SHUT_WR)
        return psutil.Process(int(connection.makefile().read()))


@contextmanager
def shared_parent() -> Iterator[None]:
    """Let all pytest processes started in this context fork their servers from one process."""
    os.environ[_ADDRESS] = _start_parent()
    yield
    del os.environ[_ADDRESS]


@cache
def _start_parent() -> str:
    """Start the process that forks servers and return the address of its socket."""
    folder = tempfile.TemporaryDirectory()
    address = str(Path(folder.name, "forks"))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        parent = subprocess.Popen(
            [sys.executable, "-m", "tests.server_forks"],
            cwd=ROOT,
            env=shell_variables() | worker_process.worker_environment(),
            stdin=listening,
        )
    atexit.register(folder.cleanup)
    atexit.register(parent.wait)
    atexit.register(parent.kill)
    return address


def shell_variables() -> dict[str, str]:
    """Return the variables of a user's shell, without those of pytest and the lab."""
    prefixes = ("RL_LAB_", "NICEGUI_", "PYTEST_")
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}


def _import_what_main_imports() -> None:
    imports = [
        one
        for one in ast.parse(MAIN.read_text()).body
        if isinstance(one, ast.Import | ast.ImportFrom)
    ]
    exec(compile(ast.Module(imports, type_ignores=[]), MAIN, "exec"), {})


def _fork_on_request() -> dict[str, Any]:
    """Fork a process for each request; return the request in each forked process."""
    listening = socket.socket(fileno=0)
    while True:
        connection, _ = listening.accept()
        with connection, connection.makefile() as file:
            request: dict[str, Any] = json.load(file)
            if not (pid := os.fork()):
                listening.detach()
                return request
            connection.sendall(str(pid).encode())


def _become_main(environment: dict[str, str], output: str) -> None:
    _end_with_the_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with Path(os.devnull).open() as null, Path(output).open("a") as printed:
        os.dup2(null.fileno(), 0)
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
    worker_process.spawn_fork_server = _prepare_fork_server(worker_process.spawn_fork_server)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["main.py"]
    runpy.run_path(str(MAIN), run_name="__main__")


def _end_with_the_parent() -> None:
    """Let the kernel kill this process when its parent exits, however the tests end."""
    if sys.platform == "linux":
        kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class _Child(psutil.Process):
    """The part of `subprocess.Popen` that the owner of a fork server uses."""

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int | None:
        try:
            return super().wait(timeout)
        except psutil.TimeoutExpired as error:
            raise subprocess.TimeoutExpired("fork server", timeout or 0) from error


def _prepare_fork_server(spawn: Spawn) -> Spawn:
    """Fork the lab's first fork server in advance; later ones, after its death, are spawned."""
    prefixes, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        prefixes.close()
        _become_fork_server(theirs)
    theirs.close()
    ready = [_Child(pid)]

    def take(requests: socket.socket) -> Any:
        if not ready:
            return spawn(requests)
        with prefixes:
            socket.send_fds(prefixes, [b"serve"], [requests.fileno()])
        return ready.pop()

    return take


def _become_fork_server(lab: socket.socket) -> NoReturn:
    """Serve like `python -I -B boot.py fork-server`, once the lab requests it."""
    os.setsid()
    os.chdir("/")
    os.environ.clear()
    os.environ.update(worker_process.worker_environment())
    try:
        _, received, _, _ = socket.recv_fds(lab, 16, 1)
        if received:  # Empty if the lab ended without starting a worker.
            os.dup2(received[0], 0)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            sys.argv = ["boot.py", "fork-server"]
            boot.main()
    finally:
        os._exit(0)


if __name__ == "__main__":
    _end_with_the_parent()
    _import_what_main_imports()
    fork_server.import_everything()
    tempfile.tempdir = None  # Only workers have no folder for temporary files.
    gc.collect()
    gc.freeze()
    # No process waits for their exit status.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _become_main(**_fork_on_request())
