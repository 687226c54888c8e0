"""An episode that can be played step by step, with undo and restart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from app.protocol import messages

MAX_NUMBERS = 512
"""Larger observations, such as images, aren't sent as numbers."""
_MAX_INFO_ITEMS = 40
_MAX_VALUE_LENGTH = 200
_MAX_NAME_LENGTH = 100
_MAX_INTEGER = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The result of a step, or of the reset."""

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
        """Whether the episode ended."""
        return self.terminated or self.truncated

    def equals(self, other: "StepResult") -> bool:
        """Compare everything but `info`, which may contain wall-clock times."""
        mine = (self.step, self.observation, self.return_, self.is_over)
        return mine == (other.step, other.observation, other.return_, other.is_over)


class Episode:
    """Plays an environment; keeps the seed and the actions, to replay them.

    Some environments are deterministic only when new; then each episode gets a new one.
    """

    def __init__(self, make: Callable[[], gym.Env[Any, Any]], *, new_env_each: bool) -> None:
        self._make = make
        self._new_env_each = new_env_each
        self.env = make()
        self._is_unused = True
        self._results: list[StepResult] = []
        self.seed = 0

    @property
    def current(self) -> StepResult:
        """The result of the last step, or of the reset."""
        return self._results[-1]

    def begin(self, seed: int) -> None:
        """Start a new episode with this seed."""
        self._reset(seed)
        self.env.action_space.seed(seed)

    def act(self, action: messages.Action | None = None) -> StepResult:
        """Take a step, with a random action if none is given."""
        if action is None:
            action = plain_action(self.env.action_space.sample())
        self._results.append(self._step(action))
        return self.current

    def undo_step(self) -> bool:
        """Replay the episode without its last step; return whether that gave the same state."""
        *_, expected, _ = self._results
        actions = [result.action for result in self._results[1:-1]]
        self._reset(self.seed)
        for action in actions:
            assert action is not None
            self._results.append(self._step(action))
            if self.current.is_over:
                break
        return self.current.equals(expected)

    def _reset(self, seed: int) -> None:
        if self._new_env_each and not self._is_unused:
            self.env.close()
            self.env = self._make()
        self._is_unused = False
        self.seed = seed
        observation, info = self.env.reset(seed=seed)
        self._results = [
            StepResult(
                step=0,
                action=None,
                observation=self._numbers(observation),
                reward=0.0,
                return_=0.0,
                terminated=False,
                truncated=False,
                info=_readable_info(info),
            )
        ]

    def _step(self, action: messages.Action) -> StepResult:
        typed = _typed_action(self.env.action_space, action)
        observation, raw_reward, terminated, truncated, info = self.env.step(typed)
        if not np.isfinite(reward := float(raw_reward)):
            raise ValueError(f"the reward of step {self.current.step + 1} is {reward}")
        return StepResult(
            step=self.current.step + 1,
            action=action,
            observation=self._numbers(observation),
            reward=reward,
            return_=self.current.return_ + reward,
            terminated=bool(terminated),
            truncated=bool(truncated),
            info=_readable_info(info),
        )

    def _numbers(self, observation: Any) -> tuple[float | None, ...] | None:  # noqa: ANN401 - anything
        """Return an observation as numbers, in the order of its component names."""
        parts = observation.values() if isinstance(observation, dict) else (observation,)
        arrays = [np.asarray(part).ravel() for part in parts]
        if sum(array.size for array in arrays) > MAX_NUMBERS:
            return None
        return tuple(_number(value) for array in arrays for value in array.tolist())


def action_bounds(
    space: spaces.Space[Any],
) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Return the lower and upper bounds of each number of an action."""
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
    """Return an action as a number or a tuple of numbers."""
    if np.ndim(action) == 0:
        return int(action)
    return tuple(float(value) for value in np.asarray(action).ravel())


def _typed_action(space: spaces.Space[Any], action: messages.Action) -> Any:  # noqa: ANN401
    """Return an action with the type and shape of its space."""
    if isinstance(space, spaces.Discrete):
        return space.dtype.type(action)
    return np.array(action, dtype=space.dtype).reshape(space.shape or ())


def _number(value: Any) -> float | int | None:  # noqa: ANN401 - a scalar of any kind
    if isinstance(value, bool | int) and abs(value) <= _MAX_INTEGER:
        return int(value)
    return float(value) if np.isfinite(value) else None


def _readable_info(info: dict[str, Any]) -> dict[str, messages.Fact]:
    """Return the first items of an info dict, with values that can be displayed."""
    shown = list(info.items())[:_MAX_INFO_ITEMS]
    return {str(name)[:_MAX_NAME_LENGTH]: _readable_value(value) for name, value in shown}


def _readable_value(value: Any) -> messages.Fact:  # noqa: ANN401 - foreign code may return anything
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, np.ndarray) and value.size > MAX_NUMBERS:
        return f"{'x'.join(map(str, value.shape))} numbers"
    return str(value)[:_MAX_VALUE_LENGTH]
