"""Start the process of a worker: forked where that is safe, spawned elsewhere."""

import asyncio
import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
from asyncio import IncompleteReadError, StreamReader, StreamReaderProtocol, StreamWriter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Protocol

from app.core import Tasks
from app.protocol.fork_protocol import CANNOT_FORK, PID, REQUEST

_READ_LIMIT = 1 << 20
_PR_SET_CHILD_SUBREAPER = 36
_FORK_WITHIN_S = 120.0
"""The first worker waits for all imports, which takes long on a busy machine."""
_END_WITHIN_S = 1.0

_log = logging.getLogger(__name__)


def boot_path() -> Path:
    """Return the entry file of worker processes, which is never imported here."""
    return Path(__file__).parents[1] / "worker" / "boot.py"


class ForkError(Exception):
    """The fork server provided no worker."""


class CannotForkError(ForkError):
    """The installed libraries can't be imported by a process that forks."""


class WorkerProcess(Protocol):
    """The process of a worker and its three pipes."""

    stdin: StreamWriter | None
    stdout: StreamReader | None
    stderr: StreamReader | None

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def returncode(self) -> int | None:
        """The exit code, None while it runs; negative: the signal that ended it."""

    async def wait(self) -> int:
        """Wait for its end and return the exit code."""


async def start_process(memory_mb: int) -> WorkerProcess:
    """Start a worker with a minimal environment.

    Raises:
        OSError, ForkError: if it can't be started.
    """
    server = fork_server()
    if server.can_fork:
        with suppress(CannotForkError):
            return await server.fork(memory_mb)
    return await asyncio.create_subprocess_exec(
        *_command("worker", str(memory_mb)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env=worker_environment(),
        start_new_session=True,
        limit=_READ_LIMIT,
    )


@cache
def fork_server() -> "ForkServer":
    """Return the fork server: one per process, because it makes the process a child subreaper."""
    return ForkServer()


class ForkServer:
    """The lab's side of the process that forks workers; started by the first request."""

    def __init__(self) -> None:
        self.can_fork = _is_fork_safe()
        """Whether workers are forked; spawned ones start slower and need more memory."""
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._tasks = Tasks()

    @property
    def pid(self) -> int | None:
        """The server's process id; None before the first request."""
        return None if self._process is None else self._process.pid

    async def fork(self, memory_mb: int) -> WorkerProcess:
        """Return the process of a new worker; restart a dead server.

        Raises:
            CannotForkError: if workers must be spawned here.
            ForkError: if there is no way to get one.
        """
        forking = self._tasks.start(self._fork(memory_mb), name="fork a worker")
        try:
            process: WorkerProcess = await asyncio.shield(forking)
        except asyncio.CancelledError:
            # It is forked anyway, and stays a zombie unless it is waited for.
            forking.add_done_callback(_kill_unclaimed)
            raise
        return process

    def close(self) -> None:
        """End the server; its workers keep running, and the next request starts a new one."""
        if self._process is not None and self._requests is not None:
            self._process.kill()
            self._process.wait()
            self._requests.close()
        self._process = self._requests = None

    async def _fork(self, memory_mb: int) -> "ForkedProcess":
        for _ in range(2):
            requests = self._ensure_running()
            try:
                async with asyncio.timeout(_FORK_WITHIN_S):
                    return await ForkedProcess.request(requests, memory_mb)
            except TimeoutError:
                self.close()
            except (ConnectionError, IncompleteReadError):
                await self._check_exit()
            except BlockingIOError:
                break
        raise ForkError("the fork server does not answer")

    def _ensure_running(self) -> socket.socket:
        """Return the socket to the server; start it if it isn't running."""
        code = None if self._process is None else self._process.poll()
        if code is not None:
            _log.warning("The fork server ended (exit code %d); a new one starts.", code)
            self.close()
        if self._requests is None:
            self._start()
        assert self._requests is not None
        return self._requests

    def _start(self) -> None:
        # Workers are orphans of the server and reparented to the lab: they don't end with it.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._requests, server_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._requests.setblocking(False)
        with server_end:
            self._process = spawn_fork_server(server_end)

    async def _check_exit(self) -> None:
        """Find out why no worker was forked: the server may have died, or can't be used here."""
        if (process := self._process) is None:
            return  # Another request has handled it.
        with suppress(subprocess.TimeoutExpired):
            self.can_fork = await asyncio.to_thread(process.wait, _END_WITHIN_S) != CANNOT_FORK
        if not self.can_fork:
            raise CannotForkError("the fork server can't be used here")


def spawn_fork_server(requests: socket.socket) -> subprocess.Popen[bytes]:
    """Start the process that forks; it reads its requests from this socket."""
    return subprocess.Popen(
        _command("fork-server"),
        stdin=requests.fileno(),
        stdout=subprocess.DEVNULL,
        cwd="/",
        env=worker_environment(),
        start_new_session=True,
    )


class ForkedProcess:
    """A process that the fork server forked and that was reparented to the lab."""

    def __init__(self, pipes: "_Pipes", pid: int) -> None:
        self.stdin: StreamWriter | None = pipes.stdin
        self.stdout: StreamReader | None = pipes.stdout
        self.stderr: StreamReader | None = pipes.stderr
        self.pid = pid
        self.returncode: int | None = None
        self._pidfd = os.pidfd_open(pid)
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._pidfd, self._reap)

    @classmethod
    async def request(cls, requests: socket.socket, memory_mb: int) -> "ForkedProcess":
        """Request a new worker from the fork server.

        Raises:
            ConnectionError, IncompleteReadError: if it is gone or can't fork.
            BlockingIOError: if it doesn't accept requests.
        """
        pipes = _Pipes()
        try:
            await pipes.open(requests, memory_mb)
            (pid,) = PID.unpack(await pipes.stdout.readexactly(PID.size))
            return cls(pipes, pid)
        except BaseException:
            # A worker whose pipes are closed ends.
            pipes.close()
            raise

    def kill(self) -> None:
        """Kill the process."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    async def wait(self) -> int:
        """Wait for its end and return the exit code; negative: the signal that ended it."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        self._ended.set()


class _ReadsToTheEnd(StreamReaderProtocol):
    """Closes its pipe at EOF; uvloop would keep it open like a socket that can still send."""

    def eof_received(self) -> bool:
        """Let the transport close."""
        super().eof_received()
        return False


class _Pipes:
    """The lab's ends of a worker's pipes."""

    stdin: StreamWriter
    stdout: StreamReader
    stderr: StreamReader

    def __init__(self) -> None:
        self._transports: list[asyncio.BaseTransport] = []

    async def open(self, requests: socket.socket, memory_mb: int) -> None:
        """Create the pipes and send the worker's ends with the request."""
        (commands, own_in), (own_out, frames), (own_err, printed) = (os.pipe() for _ in range(3))
        worker_ends = [commands, frames, printed]
        try:
            self.stdin = await self._writer(own_in)
            self.stdout = await self._reader(own_out)
            self.stderr = await self._reader(own_err)
            socket.send_fds(requests, [REQUEST.pack(memory_mb)], worker_ends)
        finally:
            for descriptor in worker_ends:
                os.close(descriptor)

    def close(self) -> None:
        for transport in self._transports:
            transport.close()

    async def _reader(self, descriptor: int) -> StreamReader:
        reader = StreamReader(_READ_LIMIT)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: _ReadsToTheEnd(reader), _file(descriptor, "rb")
        )
        self._transports.append(transport)
        return reader

    async def _writer(self, descriptor: int) -> StreamWriter:
        loop = asyncio.get_running_loop()
        # The protocol's reader is unused; the protocol is needed for flow control.
        transport, protocol = await loop.connect_write_pipe(
            lambda: StreamReaderProtocol(StreamReader()),
            _file(descriptor, "wb"),
        )
        self._transports.append(transport)
        return StreamWriter(transport, protocol, None, loop)


def _file(descriptor: int, mode: str) -> IO[bytes]:
    """Return the file that a transport takes over, so that its descriptor is closed only once.

    uvloop closes the file and then the descriptor again by its number, which may by then belong to
    another thread.
    """
    closes_by_number = type(asyncio.get_running_loop()).__module__.startswith("uvloop")
    return os.fdopen(descriptor, mode, buffering=0, closefd=not closes_by_number)


def _kill_unclaimed(forking: asyncio.Task[ForkedProcess]) -> None:
    if not forking.cancelled() and forking.exception() is None:
        forking.result().kill()


def _is_fork_safe() -> bool:
    """Whether this system can fork processes with loaded libraries and report their exit."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True


def _command(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-B", str(boot_path()), *arguments)


def worker_environment() -> dict[str, str]:
    """Return the environment of workers, without the server's own variables and their secrets."""
    one_thread = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/",
        "SDL_VIDEODRIVER": "dummy",
        "SDL_AUDIODRIVER": "dummy",
        "PYGAME_HIDE_SUPPORT_PROMPT": "1",
        "TORCHINDUCTOR_CACHE_DIR": "/",
        **dict.fromkeys(one_thread, "1"),
    }
