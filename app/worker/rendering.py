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
        self._last: Any = None

    def step(
        self,
        action: Any,  # noqa: ANN401 - whatever the environment takes
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act; at the end of an episode keep its picture."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            self._last = self.env.render()
        return observation, reward, terminated, truncated, info

    def render(self) -> Any:  # noqa: ANN401 - whatever the environment draws
        """Return the picture of the end, once, or that of now."""
        last, self._last = self._last, None
        return self.env.render() if last is None else last


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
