"""Record an episode that a user plays, to save it as a demonstration."""

import io
from typing import Any

import numpy as np

from app.protocol import messages

_MAX_NUMBERS = 1_000_000
"""Episodes with more numbers than this, which take 8 MB, can't be saved."""


class Recording:
    """The states of the current episode, if it is complete and not too long."""

    def __init__(self) -> None:
        self._states: list[messages.Happened] = []
        self._numbers = 0
        self._is_whole = False

    @property
    def can_be_saved(self) -> bool:
        """Whether it is a complete episode."""
        if not self._is_whole or len(self._states) < 2:
            return False
        return self._states[-1].terminated or self._states[-1].truncated

    @property
    def is_too_long(self) -> bool:
        """Whether it is too long to save."""
        return self._numbers > _MAX_NUMBERS

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self._states) - 1

    @property
    def total(self) -> float:
        """The return of the episode."""
        return self._states[-1].return_

    @property
    def seed(self) -> int:
        """The seed of the episode."""
        return self._states[-1].seed

    def add(self, state: messages.Happened) -> None:
        """Add a state: the next one, the one after an undo, or the first of an episode."""
        if state.step == 0:
            self._states, self._numbers, self._is_whole = [], 0, True
        elif not self._is_whole:
            return
        else:
            # A step was undone, or the same state was sent again.
            del self._states[state.step :]
            self._is_whole = state.step == len(self._states)
        self._states.append(state)
        self._numbers += _size(state)
        if self.is_too_long:
            self._states, self._is_whole = [state], False

    def copy(self) -> "Recording":
        """Return a copy of the episode in its current state."""
        other = Recording()
        other._states, other._numbers = list(self._states), self._numbers
        other._is_whole = self._is_whole
        return other

    @property
    def has_observations(self) -> bool:
        """Whether it has observations; images are not recorded."""
        return self._states[0].observation is not None

    def as_npz(self, env_id: str) -> bytes:
        """Return the episode as an npz file without pickled objects."""
        first, *steps = self._states
        content: dict[str, Any] = {
            "env_id": np.array(env_id),
            "seed": np.array(first.seed),
            "actions": np.array([state.action for state in steps]),
            "rewards": np.array([state.reward for state in steps]),
            "terminated": np.array([state.terminated for state in steps]),
            "truncated": np.array([state.truncated for state in steps]),
            "dones": np.array([state.terminated or state.truncated for state in steps]),
        }
        if self.has_observations:
            # One more than steps: the observation before each, and the last one.
            observations = [state.observation for state in self._states]
            content["observations"] = np.array(observations, dtype=np.float64)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **content)
        return buffer.getvalue()


def _size(state: messages.Happened) -> int:
    acted = len(state.action) if isinstance(state.action, tuple) else 1
    return len(state.observation or ()) + acted + 4
