"""Live frames of a run: the newest one, for any number of viewers."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from app.core.events import Event
from app.protocol import FrameHeader


@dataclass(frozen=True, slots=True)
class Frame:
    """One numbered frame."""

    seq: int
    header: FrameHeader
    jpeg: bytes

    def packed(self) -> bytes:
        """Return the bytes that the frame socket sends: length of the header, header, JPEG."""
        fields: dict[str, Any] = {"seq": self.seq, **msgspec.to_builtins(self.header)}
        header = msgspec.json.encode(fields)
        return len(header).to_bytes(4, "big") + header + self.jpeg


class FrameHub:
    """Gives all viewers the newest frame; a slow viewer skips frames and never delays others."""

    def __init__(self) -> None:
        self.newest: Frame | None = None
        self.viewers = 0
        self.viewers_changed = Event[[]]()
        """The number of viewers of the training changed."""
        self._arrived = asyncio.Event()
        self._evaluations = 0

    @property
    def viewers_of_training(self) -> int:
        """The number of viewers of the training: 0 while an evaluation is shown."""
        return 0 if self._evaluations else self.viewers

    def publish(self, header: FrameHeader, jpeg: bytes) -> None:
        """Show a frame; ignore those of the training while an evaluation is shown."""
        if self._evaluations and header.kind == "training":
            return
        seq = self.newest.seq + 1 if self.newest else 1
        self.newest = Frame(seq, header, jpeg)
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()

    async def after(self, seq: int) -> Frame:
        """Return the newest frame as soon as it is newer than `seq`."""
        while self.newest is None or self.newest.seq <= seq:
            await self._arrived.wait()
        return self.newest

    @contextmanager
    def showing_evaluation(self) -> Iterator[None]:
        """Hide frames of the training inside the context."""
        self._evaluations += 1
        try:
            yield
        finally:
            self._evaluations -= 1
            self.viewers_changed.emit()

    @contextmanager
    def viewing(self) -> Iterator[None]:
        """Count a viewer inside the context."""
        self.viewers += 1
        self.viewers_changed.emit()
        try:
            yield
        finally:
            self.viewers -= 1
            self.viewers_changed.emit()
