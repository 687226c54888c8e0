"""The interface of workers, wherever they run, and what they send."""

from dataclasses import dataclass
from typing import Protocol

from app.protocol import framing, messages
from app.workers.errors import Exit


@dataclass(frozen=True, slots=True)
class RenderedFrame:
    """A rendered frame from a worker."""

    header: messages.FrameHeader
    jpeg: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a file from a worker."""

    header: messages.BlobHeader
    content: bytes


@dataclass(frozen=True, slots=True)
class PackedPolicy:
    """The weights of a policy from a worker, still serialized: only another worker opens them."""

    header: messages.WeightsHeader
    frame: bytes

    @property
    def weights(self) -> bytes:
        """The weights without the frame, as files have them."""
        return framing.split_header(self.frame[framing.HEADER.size + len(framing.WEIGHTS) :])[1]


Received = messages.FromWorker | RenderedFrame | Piece | PackedPolicy


class Worker(Protocol):
    """A sandboxed process that does one job; `WorkerPool` starts them.

    Implementations monitor it: a worker that exceeds its limits of memory, threads or output, is
    silent, or hangs in a user's code is ended, and `Exit` has the reason.
    """

    layers: tuple[str, ...]
    """The layers of the sandbox that the worker reports as active."""

    @property
    def unsent_bytes(self) -> int:
        """Number of bytes that the worker hasn't read yet."""

    @property
    def printed(self) -> str:
        """The last part of the worker's output."""

    def send(self, frame: bytes) -> None:
        """Send the worker a frame without waiting."""

    async def send_file(self, name: str, content: bytes) -> None:
        """Send the worker a file as fast as it reads it.

        Raises:
            ConnectionError: if it ended.
        """

    async def receive(self) -> Received:
        """Return the next message from the worker.

        Raises:
            WorkerGoneError: if it ended.
            ProtocolError: if it violated the protocol; it should be killed.
        """

    def expect(self, *, within_s: float | None) -> None:
        """End the worker if it sends nothing for this long; None: no limit."""

    async def exit_info(self) -> Exit:
        """Return why the worker ended; its pipe is closed already."""

    def stop(self) -> None:
        """Ask the worker to end its job and deliver its results."""

    def kill(self) -> None:
        """Kill the worker and all processes that it started."""

    async def wait(self) -> object:
        """Wait until the worker and its resources are gone."""
