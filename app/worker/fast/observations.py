"""Encode observations as network inputs: one column of numbers each."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.preprocessing import is_image_space

from app.worker.fast.flat import Array

Encode = Callable[[npt.NDArray[Any]], Array]

_MAX_PIXEL = 255.0


def encoder(space: gym.Space[Any]) -> Encode:
    """Return the function that preprocesses a batch of observations as Stable-Baselines3 does."""
    match space:
        case gym.spaces.Discrete():
            return _OneHot([int(space.n)])
        case gym.spaces.MultiDiscrete():
            return _OneHot(space.nvec.tolist())
        case gym.spaces.Box() if is_image_space(space):
            return _scaled_pixels
        case _:
            return _flattened


def _flattened(observations: npt.NDArray[Any]) -> Array:
    return observations.reshape(len(observations), -1).astype(np.float32, copy=False).T


def _scaled_pixels(observations: npt.NDArray[Any]) -> Array:
    return _flattened(observations) / np.float32(_MAX_PIXEL)


class _OneHot:
    """Encodes discrete observations as one-hot columns."""

    def __init__(self, sizes: list[int]) -> None:
        self._height = sum(sizes)
        self._starts = np.cumsum([0, *sizes[:-1]])

    def __call__(self, observations: npt.NDArray[Any]) -> Array:
        count = len(observations)
        rows = observations.reshape(count, -1).astype(np.int64) + self._starts
        columns = np.zeros((self._height, count), np.float32)
        columns[rows, np.arange(count)[:, None]] = 1.0
        return columns
