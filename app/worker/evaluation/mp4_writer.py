"""Make an MP4 of pictures, in memory: H.264 that every browser plays."""

import io
from fractions import Fraction
from typing import Any

import av
import numpy as np

from app.worker.envs.rendering import Pixels

MOST_SECONDS = 120
MOST_BYTES = 48 << 20
"""The lab takes a little more; see `LARGEST_VIDEO` in app/workers/video.py."""

Size = tuple[int, int]
"""Width and height."""

_MOST_SIZE = (1280, 720)
_KEYFRAME_EVERY_S = 2
"""So coarse is seeking where a player doesn't decode what lies between."""


class Mp4Writer:
    """Takes pictures of any size; the first one says how large the film is."""

    def __init__(
        self, fps: float, *, most_seconds: float | None = None, most_size: Size = _MOST_SIZE
    ) -> None:
        self.fps = Fraction(fps).limit_denominator(1_000)
        self._most_pictures = (most_seconds or MOST_SECONDS) * self.fps
        self._most_size = most_size
        self.pictures = 0
        self.width = self.height = 0
        self.is_cut = False
        """Whether there was a picture for which it had no room."""
        self._file = io.BytesIO()
        self._container = av.open(self._file, "w", format="mp4")
        self._stream: Any = None

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another picture."""
        return self.pictures >= self._most_pictures or self._file.tell() >= MOST_BYTES

    def add(self, picture: Pixels) -> None:
        """Add a picture unless the film is full."""
        if self.is_full:
            self.is_cut = True
            return
        if self._stream is None:
            self._begin(*_size(picture, self._most_size))
        frame = av.VideoFrame.from_ndarray(self._fit(picture), format="rgb24")
        frame.pts = self.pictures
        self._container.mux(self._stream.encode(frame))
        self.pictures += 1

    def finish(self) -> bytes:
        """Return the file; nothing where there was no picture."""
        if self._stream is None:
            return b""
        self._container.mux(self._stream.encode(None))
        self._container.close()
        return self._file.getvalue()

    def _begin(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        stream: Any = self._container.add_stream(
            "libx264", rate=self.fps, options={"preset": "veryfast", "crf": "23"}
        )
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.time_base = 1 / self.fps
        stream.codec_context.gop_size = max(1, round(_KEYFRAME_EVERY_S * self.fps))
        stream.thread_count = 1
        self._stream = stream

    def _fit(self, picture: Pixels) -> Pixels:
        """Return a picture of the film's size, with black bars where it has another shape."""
        height, width = picture.shape[:2]
        if (width, height) == (self.width, self.height):
            return picture
        scale = min(self.width / width, self.height / height)
        # One row or column less is cut off, not squeezed: squeezing blurs all the others.
        is_nearly = 0 <= width - self.width < 2 and 0 <= height - self.height < 2
        if not is_nearly:
            picture = _resize(picture, max(1, int(width * scale)), max(1, int(height * scale)))
        picture = picture[: self.height, : self.width]
        height, width = picture.shape[:2]
        canvas = np.zeros((self.height, self.width, 3), np.uint8)
        top, left = (self.height - height) // 2, (self.width - width) // 2
        canvas[top : top + height, left : left + width] = picture
        return canvas


def _size(picture: Pixels, most: Size) -> Size:
    """Return the film's width and height: not too large, and even, as the format needs it."""
    height, width = picture.shape[:2]
    scale = min(1.0, most[0] / width, most[1] / height)
    return _even(width * scale), _even(height * scale)


def _even(length: float) -> int:
    return max(2, int(length) // 2 * 2)


def _resize(picture: Pixels, width: int, height: int) -> Pixels:
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
    resized = frame.reformat(width=width, height=height).to_ndarray()
    return resized.astype(np.uint8, copy=False)
