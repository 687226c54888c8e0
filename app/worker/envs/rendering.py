"""Draw environments."""

from collections.abc import Callable
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
import simplejpeg

_JPEG_QUALITY = 80


class KeepsLastPicture(gym.Wrapper[Any, Any, Any, Any]):
    """Draws the end of an episode, although the next one has begun by the time it is asked to."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.is_drawn = True
        """Whether anybody wants pictures; without them episodes are over sooner."""
        self._last: Any = None

    def step(
        self,
        action: Any,  # noqa: ANN401 - whatever the environment takes
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act; at the end of an episode keep its picture."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self.is_drawn and (terminated or truncated):
            self._last = self.env.render()
        return observation, reward, terminated, truncated, info

    def render(self) -> Any:  # noqa: ANN401 - whatever the environment draws
        """Return the picture of the end, once, or that of now."""
        last, self._last = self._last, None
        return self.env.render() if last is None else last


Pixels = np.ndarray[Any, np.dtype[np.uint8]]
"""A picture: rows, columns, and red, green and blue from 0 to 255."""


def draw(env: gym.Env[Any, Any]) -> Pixels:
    """Return the picture of the environment's current state.

    Raises:
        TypeError: if the environment doesn't draw a picture.
    """
    picture = env.render()
    if not isinstance(picture, np.ndarray):
        raise TypeError(f"render() returned {type(picture).__name__}, not an array.")
    return as_pixels(picture)


def as_pixels(picture: np.ndarray[Any, Any]) -> Pixels:
    """Return whatever environments draw as red, green and blue from 0 to 255.

    Raises:
        TypeError: if it is no picture.
    """
    if picture.ndim == 2:
        picture = picture[:, :, None]
    if picture.ndim != 3 or 0 in picture.shape or picture.shape[2] not in (1, 3, 4):
        raise TypeError(f"render() returned an array of shape {picture.shape}, not a picture.")
    picture = _as_bytes(picture)
    if picture.shape[2] == 1:
        picture = np.repeat(picture, 3, axis=2)
    return np.ascontiguousarray(picture[:, :, :3])


def _as_bytes(picture: np.ndarray[Any, Any]) -> Pixels:
    """Return brightness from 0 to 255; what has fractions may go from 0 to 1 instead."""
    if picture.dtype == np.uint8:
        return picture
    if np.issubdtype(picture.dtype, np.floating):
        picture = np.nan_to_num(picture, posinf=0.0, neginf=0.0)
        picture = picture * 255 if picture.max() <= 1.0 else picture
    elif picture.dtype == np.bool_:
        picture = picture * 255
    elif not np.issubdtype(picture.dtype, np.integer):
        raise TypeError(f"render() returned an array of {picture.dtype}, not a picture.")
    clipped: Pixels = np.clip(picture, 0, 255).astype(np.uint8)
    return clipped


def to_jpeg(picture: Pixels) -> bytes:
    """Encode a picture small and fast."""
    encode: Callable[..., bytes] = simplejpeg.encode_jpeg
    return encode(picture, quality=_JPEG_QUALITY, colorspace="RGB", colorsubsampling="420")
