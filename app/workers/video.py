"""A video that a worker delivers in pieces, with its replay."""

import gzip
from dataclasses import dataclass, field

import msgspec

from app.protocol import messages
from app.workers.errors import ProtocolError
from app.workers.job import Pieces
from app.workers.worker import Piece

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
    """Whether it can be replayed step by step."""
    is_cut: bool = False
    """Whether the episodes continue after its end."""
    is_removed: bool = False
    """Whether it was deleted in favor of newer ones."""


@dataclass(slots=True)
class RecordedVideo:
    """A video with its properties, while it is received and after."""

    header: messages.VideoRecorded | None = None
    played: messages.Played | None = None
    """The result of the episode, if it is a single one."""
    _video: Pieces = field(default_factory=lambda: Pieces("video.mp4", at_most=LARGEST_VIDEO))
    _replay: Pieces = field(default_factory=lambda: Pieces("replay.json", at_most=LARGEST_REPLAY))
    """The observations and actions of the policy, step by step; validated before storage."""

    @property
    def content(self) -> bytearray:
        """The bytes of the video received so far."""
        return self._video.content

    @property
    def video(self) -> Video | None:
        """The properties of the video, if there is one."""
        if self.header is None or not self.content:
            return None
        return Video(
            size=len(self.content),
            width=self.header.width,
            height=self.header.height,
            fps=self.header.fps,
            seconds=round(self.header.frames / self.header.fps, 3),
            is_cut=self.header.is_cut,
        )

    def take(self, piece: Piece) -> bool:
        """Add a piece of a file and return whether it was the last one.

        Raises:
            ProtocolError: if it is another file, or too large.
        """
        if self.header is None:
            raise ProtocolError(f"an unexpected file {piece.header.name}")
        pieces = self._replay if piece.header.name == "replay.json" else self._video
        return pieces.take(piece)

    def checked_replay(self) -> bytes:
        """Return the replay, compressed for the disk; empty if it isn't valid."""
        try:
            _REPLAYS.decode(bytes(self._replay.content))
        except msgspec.MsgspecError:
            return b""
        return gzip.compress(bytes(self._replay.content), compresslevel=6)
