"""Join the clips of a run into one video that shows how its policy evolved."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from app.protocol import commands, messages
from app.runs.execution import CLIP_SECONDS, Clip
from app.workers import Job, Piece, ProtocolError, RecordedVideo

MIN_CLIPS = 2

_MAX_SECONDS = 60.0
"""Maximum length of the video, regardless of the number of clips."""
_PER_CLIP_S = 60.0


def evolution_command(clips: Sequence[Clip]) -> commands.JoinClips:
    """Return the worker command that makes the video."""
    return commands.JoinClips(
        captions=tuple(_caption(clip) for clip in clips),
        seconds=min(CLIP_SECONDS, _MAX_SECONDS / len(clips)),
    )


def pack_clips(paths: Sequence[Path]) -> tuple[str, bytes]:
    """Pack the files of the clips into one file for the worker."""
    return "clips.bin", msgspec.msgpack.encode([path.read_bytes() for path in paths])


async def receive_evolution(job: Job) -> RecordedVideo:
    """Receive the video from the worker.

    Raises:
        JobError: if the worker doesn't deliver one.
    """
    recorded = RecordedVideo()
    while True:
        match received := await job.next(within_s=_PER_CLIP_S):
            case messages.VideoRecorded() if received.fps > 0:
                recorded.header = received
            case Piece():
                if recorded.take(received):
                    return recorded
            case _:
                raise ProtocolError(f"{type(received).__name__} instead of a video")


def _caption(clip: Clip) -> str:
    score = "-" if clip.score is None else f"{clip.score:,.1f}"
    return f"Step {clip.timesteps:,}   Score {score}"
