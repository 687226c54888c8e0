"""Multi-armed and contextual bandits."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

Frame = np.ndarray[Any, np.dtype[np.uint8]]


class Bandit(gym.Env[Any, Any]):
    """Several arms, each with its own mean reward in every context."""

    # Gymnasium declares it without ClassVar.
    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012

    def __init__(
        self,
        *,
        arms: int = 10,
        contexts: int = 1,
        all_or_nothing: bool = False,
        noise: float = 1.0,
        problem: int = 0,
        render_mode: str | None = None,
    ) -> None:
        """Sample the mean rewards, with `problem` as the seed."""
        sampled = np.random.default_rng(problem).normal(size=(contexts, arms))
        self._all_or_nothing = all_or_nothing
        # As probabilities, means lie between 0 and 1.
        self._means = 1 / (1 + np.exp(-sampled)) if all_or_nothing else sampled
        self._noise = noise
        self._context = 0
        self._pulls = np.zeros(arms, int)
        self._last_arm: int | None = None
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0.0, 1.0, (contexts,), np.float32)
        self.action_space = spaces.Discrete(arms)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the counts of pulls and return a context."""
        super().reset(seed=seed, options=options)
        self._pulls[:] = 0
        self._last_arm = None
        return self._next_context(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Pull an arm; return its reward and the next context."""
        self._last_arm = int(action)
        self._pulls[self._last_arm] += 1
        mean = float(self._means[self._context, self._last_arm])
        if self._all_or_nothing:
            reward = float(self.np_random.random() < mean)
        else:
            reward = mean + self._noise * float(self.np_random.normal())
        return self._next_context(), reward, False, False, {}

    @property
    def best_arm(self) -> int:
        """The arm with the highest mean reward in the current context."""
        return int(self._means[self._context].argmax())

    def render(self) -> Frame:
        """Draw two bars per arm: its mean reward in this context, and its number of pulls."""
        return draw_bars(self._means[self._context], self._pulls, self._last_arm)

    def _next_context(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        self._context = int(self.np_random.integers(len(self._means)))
        one_hot = np.zeros(len(self._means), np.float32)
        one_hot[self._context] = 1.0
        return one_hot


_WIDTH, _HEIGHT, _MARGIN = 600, 400, 20
_BACKGROUND, _AXIS, _MEAN_BAR = (255, 255, 255), (143, 143, 143), (229, 229, 229)
_BAR, _LAST_BAR = (17, 17, 17), (21, 127, 60)


def draw_bars(means: Any, pulls: Any, last: int | None) -> Frame:  # noqa: ANN401 - arrays
    """Draw the arms' means around a zero line at the top, and their pulls at the bottom."""
    frame = np.full((_HEIGHT, _WIDTH, 3), _BACKGROUND, np.uint8)
    step = (_WIDTH - 2 * _MARGIN) / len(means)
    bottom = _HEIGHT * 2 // 3
    low, high = min(0.0, float(means.min())), max(0.0, float(means.max()))
    scale = (bottom - 2 * _MARGIN) / ((high - low) or 1.0)
    zero = round(_MARGIN + high * scale)
    max_pulls = max(1, int(pulls.max()))
    for arm, mean in enumerate(means):
        left, right = (round(_MARGIN + step * (arm + part)) for part in (0.15, 0.85))
        end = round(zero - float(mean) * scale)
        frame[min(zero, end) : max(zero, end) + 1, left:right] = _MEAN_BAR
        pulled = round((_HEIGHT - bottom - _MARGIN) * int(pulls[arm]) / max_pulls)
        floor = _HEIGHT - _MARGIN
        frame[floor - pulled : floor, left:right] = _LAST_BAR if arm == last else _BAR
    frame[zero, _MARGIN:-_MARGIN] = _AXIS
    frame[_HEIGHT - _MARGIN, _MARGIN:-_MARGIN] = _AXIS
    return frame
