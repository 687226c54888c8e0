"""Record the frames of episodes as a video, and send it."""

from typing import TYPE_CHECKING

from app.protocol import Channel, messages
from app.worker.envs.rendering import Pixels

if TYPE_CHECKING:
    from app.worker.evaluation.mp4_writer import Mp4Writer
    from app.worker.evaluation.player import TimeStep

_HOLD_S = 0.4
"""How long a video holds the last frame of an episode."""


class VideoRecorder:
    """Adds every frame to a video until it is cut."""

    def __init__(self, writer: "Mp4Writer") -> None:
        self.writer = writer
        self._newest = 0

    @property
    def wants_frames(self) -> bool:
        """Whether another frame can be added."""
        return not self.writer.is_cut

    @property
    def frame_index(self) -> int | None:
        """The index in the video of the frame that was rendered last, if it is in there."""
        return self._newest if self.writer.frame_count > 0 and not self.writer.is_cut else None

    def add(self, frame: Pixels, step: "TimeStep") -> None:
        """Add a frame; hold that of the end of an episode."""
        self._newest = self.writer.frame_count
        for _ in range(1 + round(_HOLD_S * self.writer.fps) if step.is_over else 1):
            self.writer.add(frame)


def new_video(fps: float) -> "Mp4Writer":
    """Start a video."""
    # Imported late: the encoder takes 100 MB, which a view without a recording doesn't need.
    from app.worker.evaluation.mp4_writer import Mp4Writer

    return Mp4Writer(fps)


def send_video(writer: "Mp4Writer", channel: Channel, *, why_not: str | None = None) -> None:
    """Send a video and its properties."""
    content = writer.finish()
    if writer.is_cut and why_not is None:
        seconds = float(writer.frame_count / writer.fps)
        why_not = f"The video ends after {seconds:,.0f} s; the episodes continued."
    channel.send(
        messages.VideoRecorded(
            frames=writer.frame_count,
            fps=float(writer.fps),
            width=writer.width,
            height=writer.height,
            is_cut=writer.is_cut,
            why_not=why_not,
        )
    )
    if content:
        channel.send_file("video.mp4", content)
