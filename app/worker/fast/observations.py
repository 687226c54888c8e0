"""Observations as a network takes them: one column of numbers each."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.preprocessing import is_image_space

from app.worker.fast.flat import Array

Encode = Callable[[npt.NDArray[Any]], Array]

_BRIGHTEST = 255.0


def encoder(space: gym.Space[Any]) -> Encode:
    """Return what turns a batch of observations into columns, as Stable-Baselines3 does."""
    match space:
        case gym.spaces.Discrete():
            return _OneHot([int(space.n)])
        case gym.spaces.MultiDiscrete():
            return _OneHot(space.nvec.tolist())
        case gym.spaces.Box() if is_image_space(space):
            return _brightness
        case _:
            return _numbers


def _numbers(observations: npt.NDArray[Any]) -> Array:
    return observations.reshape(len(observations), -1).astype(np.float32, copy=False).T


def _brightness(observations: npt.NDArray[Any]) -> Array:
    return _numbers(observations) / np.float32(_BRIGHTEST)


class _OneHot:
    """Writes each number as a column of zeros with a one at its place."""

    def __init__(self, sizes: list[int]) -> None:
        self._height = sum(sizes)
        self._starts = np.cumsum([0, *sizes[:-1]])

    def __call__(self, observations: npt.NDArray[Any]) -> Array:
        count = len(observations)
        rows = observations.reshape(count, -1).astype(np.int64) + self._starts
        columns = np.zeros((self._height, count), np.float32)
        columns[rows, np.arange(count)[:, None]] = 1.0
        return columns
