"""A worker's end of the pipe: send messages and read commands."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

import msgspec

from app.protocol import commands, framing, messages

_CHUNK = 1 << 18
_PIPE_BROKEN = 0
_NOT_UNDERSTOOD = 3
_PAUSE_S = 0.05
_FRAME_MARGIN = 1_024


class Channel:
    """Sends messages; thread-safe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, message: messages.FromWorker) -> None:
        """Send a message to the web process."""
        self._write(messages.encode(message))

    def send_frame(self, header: messages.FrameHeader, jpeg: bytes) -> None:
        """Send a rendered frame."""
        self._write(framing.pack_with_header(framing.FRAME, msgspec.json.encode(header), jpeg))

    def send_weights(self, header: messages.WeightsHeader, weights: bytes) -> None:
        """Send the policy for another worker to play; one that is too large is not sent."""
        head = msgspec.json.encode(header)
        if len(weights) > framing.MAX_FRAME - len(head) - _FRAME_MARGIN:
            return
        self._write(framing.pack_with_header(framing.WEIGHTS, head, weights))

    def send_file(self, name: str, content: bytes, *, timesteps: int = 0, lines: int = 0) -> None:
        """Deliver a file in pieces; the web process stores it after the last one."""
        for frame in file_frames(name, content, timesteps=timesteps, lines=lines):
            self._write(frame)

    def _write(self, frame: bytes) -> None:
        try:
            with self._lock:
                framing.write(self._descriptor, frame)
        except BrokenPipeError:
            # The web process has ended.
            os._exit(_PIPE_BROKEN)


def file_frames(name: str, content: bytes, **facts: int) -> Iterator[bytes]:
    """Split a file into frames; `facts` are fields of `BlobHeader`."""
    for start in range(0, max(len(content), 1), _CHUNK):
        last = start + _CHUNK >= len(content)
        head = msgspec.json.encode({"name": name, "last": last, **facts})
        yield framing.pack_with_header(framing.BLOB, head, content[start : start + _CHUNK])


def read_file() -> bytes:
    """Read a file that the web process sends before any other command."""
    content = bytearray()
    while True:
        head, piece = framing.split_header(framing.read(0)[1])
        content += piece
        if msgspec.json.decode(head, type=messages.BlobHeader).last:
            return bytes(content)


Request = messages.Change | commands.EvaluationResult | commands.Solved
"""A request that a job handles between two steps."""


class Control:
    """The requests of the web process to a running job; a thread reads its commands."""

    def __init__(self) -> None:
        self.stop_requested = False
        self.watched = False
        self.weights_requested = False
        self.video_requested = False
        self.paused = False
        self.episodes: commands.Episodes | None = None
        """What the policy that arrives next is to play."""
        self.weights_arrived = threading.Event()
        self._weights: tuple[messages.WeightsHeader, bytes] | None = None
        self._requests: deque[Request] = deque()
        self._orders: SimpleQueue[commands.Order] = SimpleQueue()
        threading.Thread(target=self._read_commands, name="commands", daemon=True).start()

    def wait_while_paused(self, meanwhile: Callable[[], None]) -> None:
        """Return at the end of the pause or at a stop; call `meanwhile` periodically."""
        while self.paused and not self.stop_requested:
            meanwhile()
            time.sleep(_PAUSE_S)

    def take_requests(self) -> Iterator[Request]:
        """Yield the requests to handle between two steps, oldest first."""
        while self._requests:
            yield self._requests.popleft()

    def next_order(self, within_s: float | None) -> commands.Order | None:
        """Return the oldest pending order; wait for one at most `within_s`."""
        try:
            return self._orders.get(timeout=within_s)
        except Empty:
            return None

    def take_weights(self) -> tuple[messages.WeightsHeader, bytes] | None:
        """Return the newest weights, None if they were taken already."""
        self.weights_arrived.clear()
        taken, self._weights = self._weights, None
        return taken

    def _read_commands(self) -> None:
        while True:
            try:
                tag, content = framing.read(0)
            except (EOFError, OSError):
                os._exit(_PIPE_BROKEN)
            if tag == framing.WEIGHTS:
                head, weights = framing.split_header(content)
                self._weights = (msgspec.json.decode(head, type=messages.WeightsHeader), weights)
                self.weights_arrived.set()
            else:
                try:
                    self._handle(commands.decode_command(content))
                except msgspec.MsgspecError:
                    # Without this thread the job could no longer be stopped.
                    os._exit(_NOT_UNDERSTOOD)

    def _handle(self, command: commands.Command) -> None:
        match command:
            case commands.Stop():
                self.stop_requested = True
                self.weights_arrived.set()
            case commands.Watch(on=on):
                self.watched = on
            case commands.RecordVideo():
                self.video_requested = True
            case commands.SendPolicy():
                self.weights_requested = True
            case commands.Pause(on=on):
                self.paused = on
            case commands.Episodes():
                self.episodes = command
            case _:
                self._enqueue(command)

    def _enqueue(self, command: commands.Command) -> None:
        match command:
            case messages.Change() | commands.EvaluationResult() | commands.Solved():
                self._requests.append(command)
            case (
                commands.Act()
                | commands.TakeBack()
                | commands.StartOver()
                | commands.SetMode()
                | commands.Hold()
                | commands.SetRendering()
            ):
                self._orders.put(command)
