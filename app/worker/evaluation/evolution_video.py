"""Concatenate the clips of a run into one video, with a caption below each."""

import io
from collections.abc import Iterator
from typing import Any

import av
import msgspec
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from app.protocol import Channel, commands, messages
from app.worker.envs.rendering import Pixels
from app.worker.evaluation.mp4_writer import Mp4Writer
from app.worker.evaluation.video_recorder import send_video

_MIN_WIDTH = 320
_MARGIN = 12
_TEXT_COLOR, _BACKGROUND = (236, 236, 236), (16, 18, 20)


def join_clips(job: commands.JoinClips, channel: Channel, content: bytes) -> None:
    """Send one video of all clips."""
    clips = msgspec.msgpack.decode(content, type=list[bytes])
    writer: Mp4Writer | None = None
    for clip, caption in zip(clips, job.captions, strict=True):
        with av.open(io.BytesIO(clip)) as container:
            stream: Any = container.streams.video[0]
            fps = stream.average_rate
            writer = writer or Mp4Writer(float(fps))
            for frame in _frames(container, round(job.seconds * fps)):
                writer.add(_captioned(frame, caption))
        channel.send(messages.Alive())
    assert writer is not None
    send_video(writer, channel)


def _frames(container: Any, max_count: int) -> Iterator[Pixels]:  # noqa: ANN401 - PyAV's
    container.streams.video[0].thread_count = 1
    for count, frame in enumerate(container.decode(video=0)):
        if count >= max_count:
            return
        yield frame.to_ndarray(format="rgb24")


def _captioned(frame: Pixels, caption: str) -> Pixels:
    """Return the frame with a caption below it, scaled up if it is too narrow for the text."""
    height, width = frame.shape[:2]
    scale = max(1, -(-_MIN_WIDTH // width))
    image = Image.fromarray(frame).resize((width * scale, height * scale), Image.Resampling.NEAREST)
    size = max(14, image.width // 26)
    canvas = Image.new("RGB", (image.width, image.height + 2 * size), _BACKGROUND)
    canvas.paste(image)
    font = ImageFont.load_default(size)
    ImageDraw.Draw(canvas).text(
        (_MARGIN, image.height + size), caption, fill=_TEXT_COLOR, font=font, anchor="lm"
    )
    return np.asarray(canvas)
