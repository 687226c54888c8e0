"""Encode frames as an MP4 in memory, with H.264, which every browser plays."""

import io
from fractions import Fraction
from typing import Any

import av
import numpy as np

from app.worker.envs.rendering import Pixels

MAX_SECONDS = 120
MAX_BYTES = 48 << 20
"""The web process accepts a bit more; see `LARGEST_VIDEO` in app/workers/video.py."""

Size = tuple[int, int]
"""Width and height."""

_MAX_SIZE = (1280, 720)
_KEYFRAME_EVERY_S = 2
"""The precision of seeking in players that jump to keyframes only."""


class Mp4Writer:
    """Accepts frames of any size; the first one sets the size of the video."""

    def __init__(
        self, fps: float, *, max_seconds: float | None = None, max_size: Size = _MAX_SIZE
    ) -> None:
        self.fps = Fraction(fps).limit_denominator(1_000)
        self._max_frames = (max_seconds or MAX_SECONDS) * self.fps
        self._max_size = max_size
        self.frame_count = 0
        self.width = self.height = 0
        self.is_cut = False
        """Whether a frame was dropped because the video was full."""
        self._file = io.BytesIO()
        self._container = av.open(self._file, "w", format="mp4")
        self._stream: Any = None

    @property
    def is_full(self) -> bool:
        """Whether the video has reached its maximum duration or size."""
        return self.frame_count >= self._max_frames or self._file.tell() >= MAX_BYTES

    def add(self, frame: Pixels) -> None:
        """Add a frame unless the video is full."""
        if self.is_full:
            self.is_cut = True
            return
        if self._stream is None:
            self._begin(*_video_size(frame, self._max_size))
        encoded = av.VideoFrame.from_ndarray(self._fit(frame), format="rgb24")
        encoded.pts = self.frame_count
        self._container.mux(self._stream.encode(encoded))
        self.frame_count += 1

    def finish(self) -> bytes:
        """Return the file, or no bytes if no frame was added."""
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

    def _fit(self, frame: Pixels) -> Pixels:
        """Return the frame in the video's size, with black bars if its aspect ratio differs."""
        height, width = frame.shape[:2]
        if (width, height) == (self.width, self.height):
            return frame
        scale = min(self.width / width, self.height / height)
        # One extra row or column is cropped, because scaling would blur all the others.
        is_croppable = 0 <= width - self.width < 2 and 0 <= height - self.height < 2
        if not is_croppable:
            frame = _resize(frame, max(1, int(width * scale)), max(1, int(height * scale)))
        frame = frame[: self.height, : self.width]
        height, width = frame.shape[:2]
        canvas = np.zeros((self.height, self.width, 3), np.uint8)
        top, left = (self.height - height) // 2, (self.width - width) // 2
        canvas[top : top + height, left : left + width] = frame
        return canvas


def _video_size(frame: Pixels, max_size: Size) -> Size:
    """Return the video's width and height: at most `max_size`, and even, as H.264 requires."""
    height, width = frame.shape[:2]
    scale = min(1.0, max_size[0] / width, max_size[1] / height)
    return _even(width * scale), _even(height * scale)


def _even(length: float) -> int:
    return max(2, int(length) // 2 * 2)


def _resize(frame: Pixels, width: int, height: int) -> Pixels:
    video_frame = av.VideoFrame.from_ndarray(frame, format="rgb24")
    resized = video_frame.reformat(width=width, height=height).to_ndarray()
    return resized.astype(np.uint8, copy=False)
