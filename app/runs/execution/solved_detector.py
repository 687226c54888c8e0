"""Decide whether a run has solved its environment."""

IN_A_ROW = 3
"""Number of consecutive periodic evaluations that must reach the threshold."""
CONFIRMATION_EPISODES = 100
"""Number of episodes, on seeds of another family, whose mean must reach it, too."""


_MAX_DOUBLINGS = 20


class SolvedDetector:
    """Proposes that a run is solved when enough evaluations in a row reach the threshold.

    Each evaluation is of other weights on other seeds. A run near the threshold proposes it again
    and again, and one of many confirmations succeeds by chance; so after a failed one, it takes
    twice as many evaluations.
    """

    def __init__(self, threshold: float | None, *, failed_confirmations: int = 0) -> None:
        """`failed_confirmations` counts those of the run before it was resumed."""
        self.threshold = threshold
        """The mean return from which the environment counts as solved; None: there is none."""
        self.is_solved = False
        self._needed = IN_A_ROW << min(failed_confirmations, _MAX_DOUBLINGS)
        self._in_a_row = 0

    def proposes(self, mean_return: float) -> bool:
        """Add the result of a periodic evaluation; return whether it is time for a confirmation."""
        if self.threshold is None or self.is_solved:
            return False
        self._in_a_row = self._in_a_row + 1 if mean_return >= self.threshold else 0
        return self._in_a_row >= self._needed

    def confirm(self, mean_return: float) -> bool:
        """Add the result of a confirmation; return whether the environment is solved."""
        assert self.threshold is not None
        self.is_solved = mean_return >= self.threshold
        if not self.is_solved:
            self._needed, self._in_a_row = 2 * self._needed, 0
        return self.is_solved
