"""Draw environments."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import simplejpeg

_JPEG_QUALITY = 80


def make_drawn_env(env_id: str) -> gym.Env[Any, Any]:
    """Make an environment that can be drawn."""
    return gym.make(env_id, render_mode="rgb_array")


def draw(env: gym.Env[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the picture of the environment's current state.

    Raises:
        TypeError: if the environment doesn't draw an array.
    """
    picture = env.render()
    if not isinstance(picture, np.ndarray):
        raise TypeError(f"render() returned {type(picture).__name__}, not an array.")
    return np.ascontiguousarray(picture, dtype=np.uint8)


def to_jpeg(picture: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    """Encode a picture small and fast."""
    encode: Callable[..., bytes] = simplejpeg.encode_jpeg
    return encode(picture, quality=_JPEG_QUALITY, colorspace="RGB", colorsubsampling="420")
