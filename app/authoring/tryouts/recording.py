"""What somebody did in an episode and what came of it, to keep it as a demonstration."""

import io
from typing import Any

import numpy as np

from app.protocol import messages

_MOST_NUMBERS = 1_000_000
"""An episode of more numbers than this isn't worth keeping: eight megabytes."""


class Recording:
    """The moments of the current episode, as long as it is whole and small enough."""

    def __init__(self) -> None:
        self._moments: list[messages.Happened] = []
        self._numbers = 0
        self._is_whole = False

    @property
    def can_be_kept(self) -> bool:
        """Whether it is an episode from its beginning to its end."""
        if not self._is_whole or len(self._moments) < 2:
            return False
        return self._moments[-1].terminated or self._moments[-1].truncated

    @property
    def is_too_long(self) -> bool:
        """Whether it has more numbers than are kept."""
        return self._numbers > _MOST_NUMBERS

    @property
    def steps(self) -> int:
        """How many steps it has."""
        return len(self._moments) - 1

    @property
    def total(self) -> float:
        """What the episode was worth."""
        return self._moments[-1].return_

    @property
    def seed(self) -> int:
        """How the episode began."""
        return self._moments[-1].seed

    def add(self, moment: messages.Happened) -> None:
        """Take a moment up: a new one, one that was taken back to, or a beginning."""
        if moment.step == 0:
            self._moments, self._numbers, self._is_whole = [], 0, True
        elif not self._is_whole:
            return
        else:
            # A step that was taken back, or the same moment told again.
            del self._moments[moment.step :]
            self._is_whole = moment.step == len(self._moments)
        self._moments.append(moment)
        self._numbers += _size(moment)
        if self.is_too_long:
            self._moments, self._is_whole = [moment], False

    def copy(self) -> "Recording":
        """Return the episode as it is now, whatever happens next."""
        other = Recording()
        other._moments, other._numbers = list(self._moments), self._numbers
        other._is_whole = self._is_whole
        return other

    @property
    def has_observations(self) -> bool:
        """Whether what was seen is part of it; pixels aren't."""
        return self._moments[0].observation is not None

    def as_npz(self, env_id: str) -> bytes:
        """Return the episode as a file that NumPy reads without unpickling anything."""
        first, *steps = self._moments
        content: dict[str, Any] = {
            "env_id": np.array(env_id),
            "seed": np.array(first.seed),
            "actions": np.array([moment.action for moment in steps]),
            "rewards": np.array([moment.reward for moment in steps]),
            "terminated": np.array([moment.terminated for moment in steps]),
            "truncated": np.array([moment.truncated for moment in steps]),
            "dones": np.array([moment.terminated or moment.truncated for moment in steps]),
        }
        if self.has_observations:
            # One more than steps: what was seen before each, and at the end.
            seen = [moment.observation for moment in self._moments]
            content["observations"] = np.array(seen, dtype=np.float64)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **content)
        return buffer.getvalue()


def _size(moment: messages.Happened) -> int:
    acted = len(moment.action) if isinstance(moment.action, tuple) else 1
    return len(moment.observation or ()) + acted + 4
