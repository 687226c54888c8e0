"""Bandits: levers whose payouts one finds out by pulling them."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

Picture = np.ndarray[Any, np.dtype[np.uint8]]


class Bandit(gym.Env[Any, Any]):
    """A row of levers, each with a payout of its own in every situation."""

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
        """Draw the payouts; the same `problem` always has the same."""
        drawn = np.random.default_rng(problem).normal(size=(contexts, arms))
        self._all_or_nothing = all_or_nothing
        # As chances, payouts lie between 0 and 1.
        self._means = 1 / (1 + np.exp(-drawn)) if all_or_nothing else drawn
        self._noise = noise
        self._context = 0
        self._pulls = np.zeros(arms, int)
        self._last: int | None = None
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0.0, 1.0, (contexts,), np.float32)
        self.action_space = spaces.Discrete(arms)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Forget the pulls and show a situation."""
        super().reset(seed=seed, options=options)
        self._pulls[:] = 0
        self._last = None
        return self._next_situation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401
        """Pull a lever, get its payout and see the next situation."""
        self._last = int(action)
        self._pulls[self._last] += 1
        mean = float(self._means[self._context, self._last])
        if self._all_or_nothing:
            reward = float(self.np_random.random() < mean)
        else:
            reward = mean + self._noise * float(self.np_random.normal())
        return self._next_situation(), reward, False, False, {}

    @property
    def best_lever(self) -> int:
        """The lever that pays most in the situation that is shown."""
        return int(self._means[self._context].argmax())

    def render(self) -> Picture:
        """Draw a bar per lever: what it pays in this situation, and how often it was pulled."""
        return draw_bars(self._means[self._context], self._pulls, self._last)

    def _next_situation(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        self._context = int(self.np_random.integers(len(self._means)))
        seen = np.zeros(len(self._means), np.float32)
        seen[self._context] = 1.0
        return seen


_WIDTH, _HEIGHT, _MARGIN = 600, 400, 20
_PAPER, _LINE, _INK, _PALE = (255, 255, 255), (143, 143, 143), (17, 17, 17), (229, 229, 229)
_PULLED = (21, 127, 60)


def draw_bars(means: Any, pulls: Any, last: int | None) -> Picture:  # noqa: ANN401 - arrays
    """Paint what the levers pay above, around a zero line, and their shares of the pulls below."""
    picture = np.full((_HEIGHT, _WIDTH, 3), _PAPER, np.uint8)
    step = (_WIDTH - 2 * _MARGIN) / len(means)
    bottom = _HEIGHT * 2 // 3
    low, high = min(0.0, float(means.min())), max(0.0, float(means.max()))
    scale = (bottom - 2 * _MARGIN) / ((high - low) or 1.0)
    zero = round(_MARGIN + high * scale)
    most = max(1, int(pulls.max()))
    for arm, mean in enumerate(means):
        left, right = (round(_MARGIN + step * (arm + part)) for part in (0.15, 0.85))
        end = round(zero - float(mean) * scale)
        picture[min(zero, end) : max(zero, end) + 1, left:right] = _PALE
        pulled = round((_HEIGHT - bottom - _MARGIN) * int(pulls[arm]) / most)
        floor = _HEIGHT - _MARGIN
        picture[floor - pulled : floor, left:right] = _PULLED if arm == last else _INK
    picture[zero, _MARGIN:-_MARGIN] = _LINE
    picture[_HEIGHT - _MARGIN, _MARGIN:-_MARGIN] = _LINE
    return picture
