"""A video that a worker delivers in pieces."""

import gzip
from dataclasses import dataclass, field

import msgspec

from app.protocol import messages
from app.workers.errors import ProtocolError
from app.workers.job import Pieces
from app.workers.local_worker import Piece

LARGEST_VIDEO = 64 << 20
LARGEST_REPLAY = 16 << 20

_REPLAYS = msgspec.json.Decoder(messages.Replay)


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """The MP4 of some episodes."""

    size: int
    width: int
    height: int
    fps: float
    seconds: float
    has_steps: bool = False
    """Whether it can be walked through step by step."""
    is_cut: bool = False
    """Whether the episodes go on after its end."""
    is_removed: bool = False
    """Whether newer ones took its place."""


@dataclass(slots=True)
class Filmed:
    """A video and what is known of it."""

    said: messages.Filmed | None = None
    played: messages.Played | None = None
    """What the episode brought, where it is a single one."""
    _film: Pieces = field(default_factory=lambda: Pieces("video.mp4", at_most=LARGEST_VIDEO))
    _replay: Pieces = field(default_factory=lambda: Pieces("replay.json", at_most=LARGEST_REPLAY))
    """What the policy saw and did, step by step; read before it is stored."""

    @property
    def content(self) -> bytearray:
        """The video, as much of it as there is."""
        return self._film.content

    @property
    def video(self) -> Video | None:
        """What is known of the video, if there is one."""
        if self.said is None or not self.content:
            return None
        return Video(
            size=len(self.content),
            width=self.said.width,
            height=self.said.height,
            fps=self.said.fps,
            seconds=round(self.said.pictures / self.said.fps, 3),
            is_cut=self.said.is_cut,
        )

    def take(self, piece: Piece) -> bool:
        """Add a part of a file and return whether it was the last one.

        Raises:
            ProtocolError: if it is another file, or too large.
        """
        if self.said is None:
            raise ProtocolError(f"an unexpected file {piece.header.name}")
        pieces = self._replay if piece.header.name == "replay.json" else self._film
        return pieces.take(piece)

    def checked_replay(self) -> bytes:
        """Return the steps, packed for the disk; nothing if they aren't what they should be."""
        try:
            _REPLAYS.decode(bytes(self._replay.content))
        except msgspec.MsgspecError:
            return b""
        return gzip.compress(bytes(self._replay.content), compresslevel=6)
