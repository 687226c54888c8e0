"""Warn about environments with slow steps or episodes that don't end."""

import math
from collections.abc import Callable

SLOW_STEP_S = 5.0
"""Warn once if a step of the environments takes longer than this."""
_NO_END_IN = 100_000
"""Warn if no episode ends within this many steps of each environment."""


class TrainingWarnings:
    """Monitors steps and episodes, and gives each warning once."""

    def __init__(self, warn: Callable[[str, str], None], vec_steps: int) -> None:
        """Start at `vec_steps`; `warn` is called with the kind of a warning and its text."""
        self._warn = warn
        self._no_end_at: float = vec_steps + _NO_END_IN
        self._has_warned_of_slow_step = False

    def on_slow_step(self, seconds: float) -> None:
        """Warn about a slow step."""
        if not self._has_warned_of_slow_step:
            self._has_warned_of_slow_step = True
            text = f"One step of the environments took {seconds:,.0f} s. Training will be slow."
            self._warn("slow_environment", text)

    def on_episode(self, vec_steps: int) -> None:
        """Note that an episode ended."""
        self._no_end_at = vec_steps + _NO_END_IN

    def check(self, vec_steps: int) -> None:
        """Warn if no episode has ended for too many steps."""
        if vec_steps < self._no_end_at:
            return
        self._no_end_at = math.inf
        text = (
            f"No episode has ended in {_NO_END_IN:,} steps. Set wrappers.time_limit to "
            "truncate them."
        )
        self._warn("no_episode_end", text)
