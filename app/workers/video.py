"""A video that a worker delivers in pieces."""

import gzip
from dataclasses import dataclass, field

import msgspec

from app.protocol import messages
from app.workers.local_worker import Piece, ProtocolError

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

    content: bytearray = field(default_factory=bytearray)
    said: messages.Filmed | None = None
    replay: bytearray = field(default_factory=bytearray)
    """What the policy saw and did, step by step; read before it is stored."""
    played: messages.Played | None = None
    """What the episode brought, where it is a single one."""

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

    def take(self, piece: Piece) -> None:
        """Add a part of the file.

        Raises:
            ProtocolError: if it is another file, or too large.
        """
        files = {
            "video.mp4": (self.content, LARGEST_VIDEO),
            "replay.json": (self.replay, LARGEST_REPLAY),
        }
        if piece.header.name not in files or self.said is None:
            raise ProtocolError(f"an unexpected file {piece.header.name}")
        content, most = files[piece.header.name]
        content += piece.content
        if len(content) > most:
            raise ProtocolError(f"{piece.header.name} with more than {most >> 20} MB")

    def checked_replay(self) -> bytes:
        """Return the steps, packed for the disk; nothing if they aren't what they should be."""
        try:
            _REPLAYS.decode(bytes(self.replay))
        except msgspec.MsgspecError:
            return b""
        return gzip.compress(bytes(self.replay), compresslevel=6)
