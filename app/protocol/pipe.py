"""A worker's line to the lab: what it says, and what it is told."""

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
    """Sends messages; safe to use from several threads."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, message: messages.FromWorker) -> None:
        """Say something to the lab."""
        self._write(messages.encode(message))

    def send_picture(self, header: messages.FrameHeader, jpeg: bytes) -> None:
        """Show a picture."""
        self._write(framing.pack_with_header(framing.FRAME, msgspec.json.encode(header), jpeg))

    def send_weights(self, header: messages.WeightsHeader, weights: bytes) -> None:
        """Hand out the policy, for another worker to play; one that is too large stays here."""
        head = msgspec.json.encode(header)
        if len(weights) > framing.MAX_FRAME - len(head) - _FRAME_MARGIN:
            return
        self._write(framing.pack_with_header(framing.WEIGHTS, head, weights))

    def send_file(self, name: str, content: bytes, *, timesteps: int = 0, lines: int = 0) -> None:
        """Deliver a file in pieces; the lab stores it once the last one is there."""
        for frame in file_frames(name, content, timesteps=timesteps, lines=lines):
            self._write(frame)

    def _write(self, frame: bytes) -> None:
        try:
            with self._lock:
                framing.write(self._descriptor, frame)
        except BrokenPipeError:
            # The lab is gone: there is nobody to tell and nothing to save it to.
            os._exit(_PIPE_BROKEN)


def file_frames(name: str, content: bytes, **facts: int) -> Iterator[bytes]:
    """Cut a file into frames; `facts` are fields of `BlobHeader`."""
    for start in range(0, max(len(content), 1), _CHUNK):
        last = start + _CHUNK >= len(content)
        head = msgspec.json.encode({"name": name, "last": last, **facts})
        yield framing.pack_with_header(framing.BLOB, head, content[start : start + _CHUNK])


def read_file() -> bytes:
    """Read a file that the lab sends before anything else."""
    content = bytearray()
    while True:
        head, piece = framing.split_header(framing.read(0)[1])
        content += piece
        if msgspec.json.decode(head, type=messages.BlobHeader).last:
            return bytes(content)


class Control:
    """What the lab wants of a running job, kept up to date by a thread that reads commands."""

    def __init__(self) -> None:
        self.stop_requested = False
        self.watched = False
        self.is_asked_for_weights = False
        self.is_asked_to_film = False
        self.paused = False
        self.weights_arrived = threading.Event()
        self._weights: tuple[messages.WeightsHeader, bytes] | None = None
        self._wishes: deque[messages.Change | commands.Judged] = deque()
        self._orders: SimpleQueue[commands.Order] = SimpleQueue()
        threading.Thread(target=self._listen, name="commands", daemon=True).start()

    def wait_while_paused(self, meanwhile: Callable[[], None]) -> None:
        """Return as soon as the lab says go on, or stop; call `meanwhile` every now and then."""
        while self.paused and not self.stop_requested:
            meanwhile()
            time.sleep(_PAUSE_S)

    @property
    def has_wishes(self) -> bool:
        """Whether there is something to take up at the next step."""
        return bool(self._wishes)

    def take_wishes(self) -> Iterator[messages.Change | commands.Judged]:
        """Yield what is to be taken up, oldest first."""
        while self._wishes:
            yield self._wishes.popleft()

    def next_order(self, within_s: float | None) -> commands.Order | None:
        """Return the oldest order that wasn't taken yet, waiting for one at most so long."""
        try:
            return self._orders.get(timeout=within_s)
        except Empty:
            return None

    def take_weights(self) -> tuple[messages.WeightsHeader, bytes] | None:
        """Return the newest weights if they weren't taken yet."""
        self.weights_arrived.clear()
        taken, self._weights = self._weights, None
        return taken

    def _listen(self) -> None:
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
                    self._obey(commands.decode_command(content))
                except msgspec.MsgspecError:
                    # Without this thread nobody could stop the job any more.
                    os._exit(_NOT_UNDERSTOOD)

    def _obey(self, command: commands.Command) -> None:
        match command:
            case commands.Stop():
                self.stop_requested = True
                self.weights_arrived.set()
            case commands.Watch(on=on):
                self.watched = on
            case commands.Film():
                self.is_asked_to_film = True
            case commands.HandOut():
                self.is_asked_for_weights = True
            case commands.Pause(on=on):
                self.paused = on
            case messages.Change() | commands.Judged():
                self._wishes.append(command)
            case (
                commands.Act()
                | commands.TakeBack()
                | commands.StartOver()
                | commands.Conduct()
                | commands.Hold()
                | commands.Look()
            ):
                self._orders.put(command)
