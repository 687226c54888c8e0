"""Render environments and encode their frames."""

from collections.abc import Callable
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
import simplejpeg

_JPEG_QUALITY = 80


class KeepsLastFrame(gym.Wrapper[Any, Any, Any, Any]):
    """Returns an episode's last frame from `render`, although the next episode has begun."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.needs_frames = True
        """Whether last frames are rendered; without them episodes are faster."""
        self._last_frame: Any = None

    def step(
        self,
        action: Any,  # noqa: ANN401 - any action
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act; at the end of an episode keep its last frame."""
        # If nobody asked for the last one, it must not appear in this episode.
        self._last_frame = None
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self.needs_frames and (terminated or truncated):
            self._last_frame = self.env.render()
        return observation, reward, terminated, truncated, info

    def render(self) -> Any:  # noqa: ANN401 - any image
        """Return the last frame of a finished episode once, otherwise the current frame."""
        last, self._last_frame = self._last_frame, None
        return self.env.render() if last is None else last


Pixels = np.ndarray[Any, np.dtype[np.uint8]]
"""A frame: rows, columns, and RGB values from 0 to 255."""


def render_frame(env: gym.Env[Any, Any]) -> Pixels:
    """Return a frame of the environment's current state.

    Raises:
        TypeError: if `render` returns no image.
    """
    frame = env.render()
    if not isinstance(frame, np.ndarray):
        raise TypeError(f"render() returned {type(frame).__name__}, not an array.")
    return as_pixels(frame)


def as_pixels(frame: np.ndarray[Any, Any]) -> Pixels:
    """Convert the result of `render` to RGB values from 0 to 255.

    Raises:
        TypeError: if it is not an image.
    """
    if frame.ndim == 2:
        frame = frame[:, :, None]
    if frame.ndim != 3 or 0 in frame.shape or frame.shape[2] not in (1, 3, 4):
        raise TypeError(f"render() returned an array of shape {frame.shape}, not an image.")
    frame = _to_uint8(frame)
    if frame.shape[2] == 1:
        frame = np.repeat(frame, 3, axis=2)
    return np.ascontiguousarray(frame[:, :, :3])


def _to_uint8(frame: np.ndarray[Any, Any]) -> Pixels:
    """Scale values to 0 to 255; floating-point images may range from 0 to 1 instead."""
    if frame.dtype == np.uint8:
        return frame
    if np.issubdtype(frame.dtype, np.floating):
        frame = np.nan_to_num(frame, posinf=0.0, neginf=0.0)
        frame = frame * 255 if frame.max() <= 1.0 else frame
    elif frame.dtype == np.bool_:
        frame = frame * 255
    elif not np.issubdtype(frame.dtype, np.integer):
        raise TypeError(f"render() returned an array of {frame.dtype}, not an image.")
    clipped: Pixels = np.clip(frame, 0, 255).astype(np.uint8)
    return clipped


def to_jpeg(frame: Pixels) -> bytes:
    """Encode a frame as JPEG."""
    encode: Callable[..., bytes] = simplejpeg.encode_jpeg
    return encode(frame, quality=_JPEG_QUALITY, colorspace="RGB", colorsubsampling="420")
