"""Where a worker runs: a child process of this machine. Nothing else knows that it is one."""

import asyncio
import os
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from signal import SIGINT, SIGKILL, SIGSYS, SIGTERM, Signals

import msgspec
import psutil

from app.core.tasks import Tasks
from app.protocol import commands, framing, messages
from app.protocol.pipe import file_frames
from app.workers.errors import ProtocolError, WorkerGoneError
from app.workers.worker_process import ForkError, WorkerProcess, start_process

FROM_OUTSIDE = (-SIGKILL, -SIGTERM, -SIGINT)
"""How a worker ends that the system or a person has ended."""

_PATIENT = 15
_STDERR_KEPT = 64 << 10
_STDERR_BLOCK = 1 << 16
_STDERR_EVERY_S = 0.02
"""How long to rest after a whole block of prints: the lab has better to do than to read a flood."""
_PRINTS_AT_ONCE = 32 << 20
_PRINTS_PER_SECOND = 64 << 10
"""Whoever prints less on average may do so for ever."""
_MAX_JSON = 512 << 10
_MESSAGES_PER_SECOND = 400
_MOST_THREADS = 256
"""Limits of the system count all threads of a user, and none of root: these are one worker's."""
_LOOK_EVERY_S = 0.5
_EXIT_WITHIN_S = 1.0

_MESSAGES = msgspec.json.Decoder(messages.FromWorker)
_FRAME_HEADERS = msgspec.json.Decoder(messages.FrameHeader)
_BLOB_HEADERS = msgspec.json.Decoder(messages.BlobHeader)
_WEIGHTS_HEADERS = msgspec.json.Decoder(messages.WeightsHeader)


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture from a worker."""

    header: messages.FrameHeader
    jpeg: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file from a worker."""

    header: messages.BlobHeader
    content: bytes


@dataclass(frozen=True, slots=True)
class HandedOut:
    """Weights from a worker, still packed: only another worker opens them."""

    header: messages.WeightsHeader
    frame: bytes


Received = messages.FromWorker | Shown | Piece | HandedOut


class LocalWorker:
    """A worker in a child process of this machine."""

    def __init__(self, *, memory_mb: int) -> None:
        self._memory_mb = memory_mb
        self._printed: deque[bytes] = deque()
        self._window = (0.0, 0)
        self._tasks = Tasks()
        self._started: WorkerProcess | None = None
        self.layers: tuple[str, ...] = ()
        """The layers of the sandbox that the worker says are in force."""
        self.verdict: str | None = None
        """Why it was ended here, if it was too greedy."""

    @property
    def _process(self) -> WorkerProcess:
        if self._started is None:
            raise WorkerGoneError
        return self._started

    @property
    def pid(self) -> int:
        """The process' number."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._started is not None and self._started.returncode is None

    @property
    def printed(self) -> str:
        """The end of what the worker printed."""
        return b"".join(self._printed).decode(errors="replace")

    async def start(self) -> messages.Locked:
        """Start the process and return what it says after locking itself down."""
        try:
            self._started = await start_process(self._memory_mb)
        except ForkError as error:
            raise WorkerGoneError(str(error)) from error
        self._listening = self._tasks.start(self._keep_what_it_prints(), name="worker's prints")
        self._watching = self._tasks.start(self._count_threads(), name="worker's threads")
        said = await self.receive()
        if not isinstance(said, messages.Locked):
            self.kill()
            raise ProtocolError("it began with something other than its lock-down")
        self.layers = said.layers
        return said

    def send(self, frame: bytes) -> None:
        """Give the worker a frame without waiting for it."""
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(frame)

    async def send_file(self, name: str, content: bytes) -> None:
        """Give the worker a file, as fast as it takes it."""
        assert self._process.stdin is not None
        for frame in file_frames(name, content):
            self.send(frame)
            await self._process.stdin.drain()

    @property
    def unsent_bytes(self) -> int:
        """How much the worker hasn't read yet."""
        stdin = self._process.stdin
        return 0 if stdin is None else stdin.transport.get_write_buffer_size()

    async def receive(self) -> Received:
        """Return the next thing the worker says.

        Raises:
            WorkerGoneError: if it ended.
            ProtocolError: if it broke the rules; it should be killed.
        """
        await self._slow_down_a_flood()
        assert self._process.stdout is not None
        try:
            head = await self._process.stdout.readexactly(framing.HEADER.size)
            (length,) = framing.HEADER.unpack(head)
            if not 1 <= length <= framing.MAX_FRAME:
                raise ProtocolError(f"a frame of {length} bytes")
            body = await self._process.stdout.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise WorkerGoneError(await self._how_it_ended()) from None
        try:
            return _decode(body[:1], body[1:])
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ProtocolError(str(error)[:200]) from None

    def stop(self) -> None:
        """Ask the worker to end its job and deliver what it has."""
        self.send(messages.encode(commands.Stop()))

    def kill(self) -> None:
        """End the worker, and whatever it may have started, at once."""
        if self.is_alive:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, SIGKILL)

    def be_patient(self) -> None:
        """Let other workers have the processor first."""
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.pid, _PATIENT)

    async def wait(self) -> int:
        """Wait for the end and return the exit code; negative: the signal that ended it."""
        if self._started is None:
            return 0
        # asyncio sees the end only once every pipe was read to its end.
        assert self._process.stdout is not None
        while await self._process.stdout.read(1 << 16):
            pass
        code = await self._process.wait()
        await self._listening
        self._watching.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()
        return code

    async def _keep_what_it_prints(self) -> None:
        assert self._process.stderr is not None
        began, total = time.monotonic(), 0
        while part := await self._process.stderr.read(_STDERR_BLOCK):
            # A flood waits, however large its pieces are; ordinary prints don't.
            if len(part) > _STDERR_BLOCK // 16:
                await asyncio.sleep(_STDERR_EVERY_S * len(part) / _STDERR_BLOCK)
            total += len(part)
            if total > _PRINTS_AT_ONCE + (time.monotonic() - began) * _PRINTS_PER_SECOND:
                self.verdict = f"it printed more than {_PRINTS_AT_ONCE >> 20} MiB; print less"
                self.kill()
            self._printed.append(part)
            while sum(map(len, self._printed)) - len(self._printed[0]) > _STDERR_KEPT:
                self._printed.popleft()

    async def _count_threads(self) -> None:
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            # Nobody but the kernel knows, and it has to be asked.
            while (count := process.num_threads()) <= _MOST_THREADS:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_EVERY_S)
            self.verdict = f"it started {count:,} threads, and {_MOST_THREADS} are allowed"
            self.kill()

    async def _how_it_ended(self) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_WITHIN_S):
                await self._process.wait()
        if self.verdict is not None:
            return self.verdict
        if self._process.returncode == -SIGSYS:
            return "the sandbox ended it, because it tried what is forbidden"
        if (code := self._process.returncode) is None or code in FROM_OUTSIDE:
            return str(WorkerGoneError())
        return f"it ended by itself ({Signals(-code).name if code < 0 else f'exit code {code}'})"

    async def _slow_down_a_flood(self) -> None:
        """Read no faster than an honest worker writes: the pipe fills up and the flood waits."""
        now = asyncio.get_running_loop().time()
        began, count = self._window
        if now - began > 1.0:
            self._window = (now, 1)
        elif count < _MESSAGES_PER_SECOND:
            self._window = (began, count + 1)
        else:
            await asyncio.sleep(began + 1.0 - now)
            self._window = (asyncio.get_running_loop().time(), 1)


def _decode(tag: bytes, content: bytes) -> Received:
    if tag == framing.JSON:
        if len(content) > _MAX_JSON:
            raise ProtocolError(f"a message of {len(content)} bytes")
        message: messages.FromWorker = _MESSAGES.decode(content)
        return message
    if tag == framing.FRAME:
        header, jpeg = framing.split_header(content)
        return Shown(_FRAME_HEADERS.decode(header), jpeg)
    if tag == framing.BLOB:
        header, piece = framing.split_header(content)
        return Piece(_BLOB_HEADERS.decode(header), piece)
    if tag == framing.WEIGHTS:
        taken = _WEIGHTS_HEADERS.decode(framing.split_header(content)[0])
        return HandedOut(taken, framing.pack(tag, content))
    raise ProtocolError(f"an unknown tag {tag!r}")
