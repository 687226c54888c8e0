"""Live pictures of a run: the newest one, for as many as look."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from app.protocol.messages import FrameHeader


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture, numbered."""

    seq: int
    header: FrameHeader
    jpeg: bytes

    def packed(self) -> bytes:
        """Return it as the frame socket sends it: length of the header, header, JPEG."""
        fields: dict[str, Any] = {"seq": self.seq, **msgspec.to_builtins(self.header)}
        header = msgspec.json.encode(fields)
        return len(header).to_bytes(4, "big") + header + self.jpeg


class FrameHub:
    """Hands the newest picture to everybody who looks; a slow one misses some, never delays any."""

    def __init__(self) -> None:
        self.newest: Frame | None = None
        self.viewers = 0
        self.on_viewers: Callable[[], None] = lambda: None
        """Called when somebody begins or ends to look."""
        self._arrived = asyncio.Event()
        self._tests = 0

    @property
    def viewers_of_training(self) -> int:
        """How many look at the training: nobody while a test is on stage."""
        return 0 if self._tests else self.viewers

    def publish(self, header: FrameHeader, jpeg: bytes) -> None:
        """Show a picture; while a test is on stage, none of the training."""
        if self._tests and header.kind == "training":
            return
        seq = self.newest.seq + 1 if self.newest else 1
        self.newest = Frame(seq, header, jpeg)
        arrived, self._arrived = self._arrived, asyncio.Event()
        arrived.set()

    async def after(self, seq: int) -> Frame:
        """Return the newest picture as soon as it is newer than `seq`."""
        while self.newest is None or self.newest.seq <= seq:
            await self._arrived.wait()
        return self.newest

    @contextmanager
    def on_stage(self) -> Iterator[None]:
        """Keep the pictures of the training off, for as long as the context lasts."""
        self._tests += 1
        try:
            yield
        finally:
            self._tests -= 1
            self.on_viewers()

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Count somebody who looks, for as long as the context lasts."""
        self.viewers += 1
        self.on_viewers()
        try:
            yield
        finally:
            self.viewers -= 1
            self.on_viewers()
