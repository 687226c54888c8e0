"""An episode that can be played step by step, taken back and begun anew."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from app.protocol import messages

MOST_NUMBERS = 512
"""An observation of more numbers is as good as a picture: nobody reads it."""
_MOST_FACTS = 40
_LONGEST_FACT = 200
_LONGEST_NAME = 100
_LARGEST_WHOLE = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where an episode stands."""

    step: int
    action: messages.Action | None
    observation: tuple[float | None, ...] | None
    reward: float
    return_: float
    terminated: bool
    truncated: bool
    info: dict[str, messages.Fact]

    @property
    def is_over(self) -> bool:
        """Whether nothing more can be done in it."""
        return self.terminated or self.truncated

    def is_like(self, other: "Moment") -> bool:
        """Whether it is the same place; what `info` tells may have its own clock."""
        mine = (self.step, self.observation, self.return_, self.is_over)
        return mine == (other.step, other.observation, other.return_, other.is_over)


class Episode:
    """Plays an environment; remembers the seed and the actions, to get anywhere again.

    Where an environment only repeats itself when it is new, every episode gets one that is.
    """

    def __init__(self, make: Callable[[], gym.Env[Any, Any]], *, makes_anew: bool) -> None:
        self._make = make
        self._makes_anew = makes_anew
        self.env = make()
        self._is_new = True
        self._moments: list[Moment] = []
        self.seed = 0

    @property
    def now(self) -> Moment:
        """Where it stands."""
        return self._moments[-1]

    def begin(self, seed: int) -> None:
        """Begin anew with this seed."""
        self._reset(seed)
        self.env.action_space.seed(seed)

    def act(self, action: messages.Action | None = None) -> Moment:
        """Take a step, with a random action where none is given."""
        if action is None:
            action = plain_action(self.env.action_space.sample())
        self._moments.append(self._step(action))
        return self.now

    def take_back(self) -> bool:
        """Go back to before the last step; return whether it is exactly where it was."""
        *_, expected, _ = self._moments
        actions = [moment.action for moment in self._moments[1:-1]]
        self._reset(self.seed)
        for action in actions:
            assert action is not None
            self._moments.append(self._step(action))
            if self.now.is_over:
                break
        return self.now.is_like(expected)

    def _reset(self, seed: int) -> None:
        if self._makes_anew and not self._is_new:
            self.env.close()
            self.env = self._make()
        self._is_new = False
        self.seed = seed
        observation, info = self.env.reset(seed=seed)
        self._moments = [
            Moment(
                step=0,
                action=None,
                observation=self._numbers(observation),
                reward=0.0,
                return_=0.0,
                terminated=False,
                truncated=False,
                info=_facts(info),
            )
        ]

    def _step(self, action: messages.Action) -> Moment:
        done = _as_the_space_has_it(self.env.action_space, action)
        observation, reward, terminated, truncated, info = self.env.step(done)
        if not np.isfinite(worth := float(reward)):
            raise ValueError(f"the reward of step {self.now.step + 1} is {worth}")
        return Moment(
            step=self.now.step + 1,
            action=action,
            observation=self._numbers(observation),
            reward=worth,
            return_=self.now.return_ + worth,
            terminated=bool(terminated),
            truncated=bool(truncated),
            info=_facts(info),
        )

    def _numbers(self, observation: Any) -> tuple[float | None, ...] | None:  # noqa: ANN401 - anything
        """Return an observation as numbers, in the order in which its components are named."""
        parts = observation.values() if isinstance(observation, dict) else (observation,)
        found = [np.asarray(part).ravel() for part in parts]
        if sum(part.size for part in found) > MOST_NUMBERS:
            return None
        return tuple(_number(value) for part in found for value in part.tolist())


def action_bounds(
    space: spaces.Space[Any],
) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Return the least and the most that each number of an action may be."""
    match space:
        case spaces.Discrete():
            lows, highs = np.array([space.start]), np.array([space.start + space.n - 1])
        case spaces.Box():
            lows, highs = space.low.ravel(), space.high.ravel()
        case spaces.MultiDiscrete():
            lows, highs = space.start.ravel(), (space.start + space.nvec - 1).ravel()
        case _:
            count = int(np.prod(space.shape or ()))
            lows, highs = np.zeros(count), np.ones(count)
    return tuple(map(_number, lows.tolist())), tuple(map(_number, highs.tolist()))


def plain_action(action: Any) -> messages.Action:  # noqa: ANN401 - whatever a space draws
    """Return an action as a number or a list of them."""
    if np.ndim(action) == 0:
        return int(action)
    return tuple(float(value) for value in np.asarray(action).ravel())


def _as_the_space_has_it(space: spaces.Space[Any], action: messages.Action) -> Any:  # noqa: ANN401
    if isinstance(space, spaces.Discrete):
        return space.dtype.type(action)
    return np.array(action, dtype=space.dtype).reshape(space.shape or ())


def _number(value: Any) -> float | int | None:  # noqa: ANN401 - a scalar of any kind
    if isinstance(value, bool | int) and abs(value) <= _LARGEST_WHOLE:
        return int(value)
    return float(value) if np.isfinite(value) else None


def _facts(info: dict[str, Any]) -> dict[str, messages.Fact]:
    """Return what an environment tells beside the rest, as far as it can be read."""
    shown = list(info.items())[:_MOST_FACTS]
    return {str(name)[:_LONGEST_NAME]: _fact(value) for name, value in shown}


def _fact(value: Any) -> messages.Fact:  # noqa: ANN401 - foreign code may tell anything
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, np.ndarray) and value.size > MOST_NUMBERS:
        return f"{'x'.join(map(str, value.shape))} numbers"
    return str(value)[:_LONGEST_FACT]
