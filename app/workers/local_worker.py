"""A worker in a local child process; code outside this package uses only `Worker`."""

import asyncio
import os
import time
from collections import deque
from contextlib import suppress
from signal import SIGINT, SIGKILL, SIGSYS, SIGTERM, Signals

import msgspec
import psutil

from app.core import Tasks
from app.protocol import (
    LONGEST_CALL_S,
    HangingError,
    commands,
    crashed_place,
    file_frames,
    framing,
    hanging_place,
    messages,
)
from app.workers.errors import Cause, Exit, ProtocolError, WorkerGoneError
from app.workers.worker import PackedPolicy, Piece, Received, RenderedFrame
from app.workers.worker_process import ForkError, WorkerProcess, start_process

_FROM_OUTSIDE = (-SIGKILL, -SIGTERM, -SIGINT)
"""Exit codes of a worker that was killed from outside."""
_LOW_PRIORITY = 15
"""The nice value."""
_STDERR_KEPT = 64 << 10
_STDERR_BLOCK = 1 << 16
_STDERR_EVERY_S = 0.02
"""Pause after a full block of output: a flood must not keep the event loop busy."""
_OUTPUT_BURST = 32 << 20
_OUTPUT_PER_SECOND = 64 << 10
"""The average rate in bytes that a worker may sustain indefinitely."""
_MAX_JSON = 512 << 10
_MESSAGES_PER_SECOND = 400
_MEMORY_MARGIN_MB = 512
"""Beyond its own limit a worker's process needs this much for code and libraries."""
_MAX_THREADS = 256
"""Per worker: the system's own limit counts all threads of a user, and none of root's."""
_CHECK_EVERY_S = 0.5
_EXIT_WITHIN_S = 1.0

_MESSAGES = msgspec.json.Decoder(messages.FromWorker)
_FRAME_HEADERS = msgspec.json.Decoder(messages.FrameHeader)
_BLOB_HEADERS = msgspec.json.Decoder(messages.BlobHeader)
_WEIGHTS_HEADERS = msgspec.json.Decoder(messages.WeightsHeader)


class LocalWorker:
    """A `Worker` in a child process of this machine."""

    def __init__(self, *, memory_mb: int) -> None:
        self._memory_mb = memory_mb
        self._printed: deque[bytes] = deque()
        self._window = (0.0, 0)
        self._tasks = Tasks()
        self._started: WorkerProcess | None = None
        self.layers: tuple[str, ...] = ()
        """The layers of the sandbox that the worker reports as active."""
        self._ended: Exit | None = None
        """Why this object killed it, if it did."""
        self._silence_s: float | None = None
        self._waiting_since: float | None = None
        """Since when a message is awaited; silence is measured only then."""

    @property
    def _process(self) -> WorkerProcess:
        if self._started is None:
            raise WorkerGoneError
        return self._started

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._started is not None and self._started.returncode is None

    @property
    def printed(self) -> str:
        """The last part of the worker's output."""
        return b"".join(self._printed).decode(errors="replace")

    async def start(self) -> messages.Locked:
        """Start the process and return its report after it has sandboxed itself."""
        try:
            self._started = await start_process(self._memory_mb)
        except ForkError as error:
            raise WorkerGoneError(str(error)) from error
        self._reading = self._tasks.start(self._read_stderr(), name="worker's output")
        self._monitoring = self._tasks.start(self._monitor(), name="monitor a worker")
        locked = await self.receive()
        if not isinstance(locked, messages.Locked):
            self.kill()
            raise ProtocolError("its first message was not its sandbox report")
        self.layers = locked.layers
        return locked

    def send(self, frame: bytes) -> None:
        """Send the worker a frame without waiting."""
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(frame)

    async def send_file(self, name: str, content: bytes) -> None:
        """Send the worker a file as fast as it reads it."""
        assert self._process.stdin is not None
        for frame in file_frames(name, content):
            self.send(frame)
            await self._process.stdin.drain()

    @property
    def unsent_bytes(self) -> int:
        """Number of bytes that the worker hasn't read yet."""
        stdin = self._process.stdin
        return 0 if stdin is None else stdin.transport.get_write_buffer_size()

    async def receive(self) -> Received:
        """Return the next message from the worker.

        Raises:
            WorkerGoneError: if it ended.
            ProtocolError: if it violated the protocol; it should be killed.
        """
        await self._limit_message_rate()
        self._waiting_since = time.monotonic()
        try:
            body = await self._read_frame()
        except (asyncio.IncompleteReadError, ConnectionError):
            raise WorkerGoneError(exit=await self.exit_info()) from None
        finally:
            self._waiting_since = None
        try:
            return _decode(body[:1], body[1:])
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ProtocolError(str(error)[:200]) from None

    async def _read_frame(self) -> bytes:
        assert self._process.stdout is not None
        head = await self._process.stdout.readexactly(framing.HEADER.size)
        (length,) = framing.HEADER.unpack(head)
        if not 1 <= length <= framing.MAX_FRAME:
            raise ProtocolError(f"a frame of {length} bytes")
        return await self._process.stdout.readexactly(length)

    def expect(self, *, within_s: float | None) -> None:
        """End the worker if it sends nothing for this long; None: no limit."""
        self._silence_s = within_s
        if self._waiting_since is not None:
            self._waiting_since = time.monotonic()

    def stop(self) -> None:
        """Ask the worker to end its job and deliver its results."""
        self.send(messages.encode(commands.Stop()))

    def kill(self) -> None:
        """Kill the worker and all processes that it started."""
        if self.is_alive:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, SIGKILL)

    def lower_priority(self) -> None:
        """Let other workers use the processor first."""
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.pid, _LOW_PRIORITY)

    async def wait(self) -> int:
        """Wait for the end and return the exit code; negative: the signal that ended it."""
        if self._started is None:
            return 0
        # asyncio notices the exit only after every pipe was read to its end.
        assert self._process.stdout is not None
        while await self._process.stdout.read(1 << 16):
            pass
        code = await self._process.wait()
        await self._reading
        self._monitoring.cancel()
        if self._process.stdin is not None:
            self._process.stdin.close()
        return code

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        began, total = time.monotonic(), 0
        while part := await self._process.stderr.read(_STDERR_BLOCK):
            # Slow down large output, whatever the size of its pieces; small output isn't delayed.
            if len(part) > _STDERR_BLOCK // 16:
                await asyncio.sleep(_STDERR_EVERY_S * len(part) / _STDERR_BLOCK)
            total += len(part)
            if total > _OUTPUT_BURST + (time.monotonic() - began) * _OUTPUT_PER_SECOND:
                self._end(f"it printed more than {_OUTPUT_BURST >> 20} MiB; print less")
            self._printed.append(part)
            while sum(map(len, self._printed)) - len(self._printed[0]) > _STDERR_KEPT:
                self._printed.popleft()

    async def _monitor(self) -> None:
        """End the worker if it exceeds a limit, is silent, or hangs in a user's code."""
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            while self._ended is None:
                await asyncio.sleep(_CHECK_EVERY_S)
                self._check_size(process)
                if self._waiting_since is not None:
                    self._check_silence(time.monotonic() - self._waiting_since)

    def _check_size(self, process: psutil.Process) -> None:
        limit = self._memory_mb + _MEMORY_MARGIN_MB
        if (used := process.memory_info().rss >> 20) > limit:
            self._end(f"it used {used:,} MB of memory, and {limit:,} MB are allowed")
        # Only the kernel knows the number of threads.
        elif (count := process.num_threads()) > _MAX_THREADS:
            self._end(f"it started {count:,} threads, and {_MAX_THREADS} are allowed")

    def _check_silence(self, seconds: float) -> None:
        if seconds > LONGEST_CALL_S and (place := hanging_place(self.printed)) is not None:
            # Code that blocks the interpreter can't be interrupted: the worker prints its line.
            reason = str(HangingError(place.filename, place.line))
            self._end(reason, cause=Cause.USER_CODE, line=place.line)
        elif self._silence_s is not None and seconds > self._silence_s:
            self._end(
                f"it was silent for {self._silence_s:g} s (RL_LAB_WORKER_SILENCE): an "
                "environment's step or an update takes too long"
            )

    def _end(self, reason: str, *, cause: Cause = Cause.LIMIT, line: int | None = None) -> None:
        self._ended = self._ended or Exit(cause, reason, line=line)
        self.kill()

    async def exit_info(self) -> Exit:
        """Return why the worker ended; its pipe is closed already."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_WITHIN_S):
                await self._process.wait()
                # The line in which it crashed may not have been read yet.
                await asyncio.wait([self._reading])
        if self._ended is not None:
            return self._ended
        code = self._process.returncode
        if code is None:
            return WorkerGoneError().exit
        status = Signals(-code).name if code < 0 else f"exit code {code}"
        if code == -SIGSYS:
            reason = "the sandbox ended it for a forbidden operation"
            return Exit(Cause.SANDBOX, reason, status)
        if code in _FROM_OUTSIDE:
            return Exit(Cause.OUTSIDE, str(WorkerGoneError()), status)
        if (place := crashed_place(self.printed)) is not None:
            reason = f"{place.filename}, line {place.line}: it crashed the worker ({status})"
            return Exit(Cause.USER_CODE, reason, status, place.line)
        return Exit(Cause.ITSELF, f"it ended by itself ({status})", status)

    async def _limit_message_rate(self) -> None:
        """Read no faster than a correct worker writes: the pipe fills up and blocks a flood."""
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
        return RenderedFrame(_FRAME_HEADERS.decode(header), jpeg)
    if tag == framing.BLOB:
        header, piece = framing.split_header(content)
        return Piece(_BLOB_HEADERS.decode(header), piece)
    if tag == framing.WEIGHTS:
        weights = _WEIGHTS_HEADERS.decode(framing.split_header(content)[0])
        return PackedPolicy(weights, framing.pack(tag, content))
    raise ProtocolError(f"an unknown tag {tag!r}")
