"""String the clips of a run together into one film, with words below each."""

import io
from collections.abc import Iterator
from typing import Any

import av
import msgspec
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from app.protocol import commands, messages
from app.protocol.pipe import Channel
from app.worker.envs.rendering import Pixels
from app.worker.evaluation.mp4_writer import Mp4Writer
from app.worker.evaluation.video_recorder import deliver_film

_LEAST_WIDTH = 320
_SIDE = 12
_INK, _GROUND = (236, 236, 236), (16, 18, 20)


def evolve(job: commands.Evolve, channel: Channel, content: bytes) -> None:
    """Deliver one film of all clips."""
    clips = msgspec.msgpack.decode(content, type=list[bytes])
    film: Mp4Writer | None = None
    for clip, words in zip(clips, job.captions, strict=True):
        with av.open(io.BytesIO(clip)) as container:
            stream: Any = container.streams.video[0]
            fps = stream.average_rate
            film = film or Mp4Writer(float(fps))
            for picture in _pictures(container, round(job.seconds * fps)):
                film.add(_captioned(picture, words))
        channel.send(messages.Alive())
    assert film is not None
    deliver_film(film, channel)


def _pictures(container: Any, most: int) -> Iterator[Pixels]:  # noqa: ANN401 - PyAV's
    container.streams.video[0].thread_count = 1
    for count, frame in enumerate(container.decode(video=0)):
        if count >= most:
            return
        yield frame.to_ndarray(format="rgb24")


def _captioned(picture: Pixels, words: str) -> Pixels:
    """Return the picture with a line of words below it, wide enough for them."""
    height, width = picture.shape[:2]
    scale = max(1, -(-_LEAST_WIDTH // width))
    image = Image.fromarray(picture).resize(
        (width * scale, height * scale), Image.Resampling.NEAREST
    )
    size = max(14, image.width // 26)
    whole = Image.new("RGB", (image.width, image.height + 2 * size), _GROUND)
    whole.paste(image)
    font = ImageFont.load_default(size)
    ImageDraw.Draw(whole).text(
        (_SIDE, image.height + size), words, fill=_INK, font=font, anchor="lm"
    )
    return np.asarray(whole)
