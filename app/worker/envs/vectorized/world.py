"""What the physics of an environment must offer, so that all its copies move at once."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import repeat
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.floating[Any]]
Truths = NDArray[np.bool_]
Moved = tuple[Numbers, Numbers, Truths]
"""The new state, the rewards, and which copies reached an end."""


class World(ABC):
    """The physics of one environment; a state has a column for each copy.

    Each operation has the type and the order that it has in Gymnasium, for one rounding more or
    less is another episode a hundred steps later.
    """

    arguments: ClassVar[frozenset[str]] = frozenset()
    """What the environment may be made with, beside nothing."""
    pays_from: ClassVar[int] = 8
    """Fewer copies are stepped as fast one by one (`make bench only=array_stepping`)."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        """Take the constants from Gymnasium's own environment, which also begins the episodes."""
        self.env: Any = env

    def first_state(self) -> Sequence[float]:
        """Return the column with which the episode begins that `env` was reset to."""
        state: Sequence[float] = self.env.state
        return state

    @abstractmethod
    def step(self, state: Numbers, actions: NDArray[Any]) -> Moved:
        """Move every copy once."""

    @abstractmethod
    def observe(self, state: Numbers) -> NDArray[np.float32]:
        """Return what is seen of each copy, a row for each."""


def bounded(values: Numbers, low: float, high: float) -> Numbers:
    """Return `values` within bounds; on short arrays twice as fast as `np.clip`."""
    within: Numbers = np.minimum(np.maximum(values, low), high)
    return within


def power_of_two(values: Numbers) -> Numbers:
    """Square each number as `number**2` does.

    That calls C's `pow`, which rounds one in a thousand otherwise than the product, and otherwise
    than `np.power` does on processors with AVX-512.
    """
    if values.dtype == np.float32:
        return np.array([value**2 for value in values], dtype=np.float32)
    numbers = values.ravel().tolist()
    squares = np.fromiter(map(math.pow, numbers, repeat(2.0)), np.float64, len(numbers))
    return squares.reshape(values.shape)


def cosine(values: Numbers) -> Numbers:
    """Return cosines as `math.cos` computes them, which NumPy need not agree with."""
    return np.fromiter(map(math.cos, values.tolist()), np.float64, len(values))


def rows(components: Numbers) -> NDArray[np.float32]:
    """Return what is observed with a row for each copy instead of a column."""
    return components.T.astype(np.float32)
