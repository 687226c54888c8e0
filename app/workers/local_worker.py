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
from app.protocol.user_code import LONGEST_CALL_S, HangingError, crashed_place, hanging_place
from app.workers.errors import Cause, Exit, ProtocolError, WorkerGoneError
from app.workers.worker_process import ForkError, WorkerProcess, start_process

_FROM_OUTSIDE = (-SIGKILL, -SIGTERM, -SIGINT)
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
_MEMORY_MARGIN_MB = 512
"""Beyond its own limit a worker's process needs this much for code and libraries."""
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

    @property
    def weights(self) -> bytes:
        """The weights alone, as files have them."""
        return framing.split_header(self.frame[framing.HEADER.size + len(framing.WEIGHTS) :])[1]


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
        self._ended: Exit | None = None
        """Why it was ended here."""
        self._silence_s: float | None = None
        self._waiting_since: float | None = None
        """Since when somebody waits for what it sends: only that counts as silence."""

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
        self._watching = self._tasks.start(self._watch(), name="watch a worker")
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
        self._waiting_since = time.monotonic()
        try:
            body = await self._read_frame()
        except (asyncio.IncompleteReadError, ConnectionError):
            raise WorkerGoneError(exit=await self.how_it_ended()) from None
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
        """End the worker if it sends nothing for so long; None: it may be silent."""
        self._silence_s = within_s
        if self._waiting_since is not None:
            self._waiting_since = time.monotonic()

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
                self._end(f"it printed more than {_PRINTS_AT_ONCE >> 20} MiB; print less")
            self._printed.append(part)
            while sum(map(len, self._printed)) - len(self._printed[0]) > _STDERR_KEPT:
                self._printed.popleft()

    async def _watch(self) -> None:
        """End the worker when it is too greedy, silent, or stuck in a user's code."""
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            while self._ended is None:
                await asyncio.sleep(_LOOK_EVERY_S)
                self._check_size(process)
                if self._waiting_since is not None:
                    self._check_silence(time.monotonic() - self._waiting_since)

    def _check_size(self, process: psutil.Process) -> None:
        most = self._memory_mb + _MEMORY_MARGIN_MB
        if (used := process.memory_info().rss >> 20) > most:
            self._end(f"it used {used:,} MB of memory, and {most:,} MB are allowed")
        # Nobody but the kernel knows, and it has to be asked.
        elif (count := process.num_threads()) > _MOST_THREADS:
            self._end(f"it started {count:,} threads, and {_MOST_THREADS} are allowed")

    def _check_silence(self, seconds: float) -> None:
        if seconds > LONGEST_CALL_S and (place := hanging_place(self.printed)) is not None:
            # Code that keeps Python itself busy can't be interrupted: the worker prints its line.
            how = str(HangingError(place.filename, place.line))
            self._end(how, cause=Cause.USER_CODE, line=place.line)
        elif self._silence_s is not None and seconds > self._silence_s:
            self._end(
                f"it gave no sign of life for {self._silence_s:g} s (RL_LAB_WORKER_SILENCE): an "
                "environment's step or an update takes too long"
            )

    def _end(self, how: str, *, cause: Cause = Cause.LIMIT, line: int | None = None) -> None:
        self._ended = self._ended or Exit(cause, how, line=line)
        self.kill()

    async def how_it_ended(self) -> Exit:
        """Return why the worker is gone; its pipe is closed already."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_WITHIN_S):
                await self._process.wait()
        if self._ended is not None:
            return self._ended
        code = self._process.returncode
        if code is None:
            return WorkerGoneError().exit
        status = Signals(-code).name if code < 0 else f"exit code {code}"
        if code == -SIGSYS:
            how = "the sandbox ended it, because it tried what is forbidden"
            return Exit(Cause.SANDBOX, how, status)
        if code in _FROM_OUTSIDE:
            return Exit(Cause.OUTSIDE, str(WorkerGoneError()), status)
        if (place := crashed_place(self.printed)) is not None:
            how = f"{place.filename}, line {place.line}: it crashed the worker ({status})"
            return Exit(Cause.USER_CODE, how, status, place.line)
        return Exit(Cause.ITSELF, f"it ended by itself ({status})", status)

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
