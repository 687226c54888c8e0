"""Statistics of the finished episodes of a training."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from app.worker.training.metric_names import finite

_MEAN_OVER = 100


class EpisodeStatistics:
    """Counts episodes, and averages returns, lengths and successes of the most recent ones."""

    def __init__(self, counts: Mapping[str, Any]) -> None:
        """Continue from what `counts` returned."""
        self._returns: deque[float] = deque(counts["rewards"], maxlen=_MEAN_OVER)
        self._lengths: deque[int] = deque(counts["lengths"], maxlen=_MEAN_OVER)
        # Checkpoints of earlier versions have none.
        self._successes: deque[bool] = deque(counts.get("successes", ()), maxlen=_MEAN_OVER)
        self.count: int = counts["episodes"]
        """The number of finished episodes."""

    def counts(self) -> dict[str, Any]:
        """Return the counters as they are stored in checkpoints."""
        return {
            "rewards": list(self._returns),
            "lengths": list(self._lengths),
            "successes": list(self._successes),
            "episodes": self.count,
        }

    @property
    def mean_reward(self) -> float | None:
        """The mean return of the last 100 episodes; None before the first."""
        return sum(self._returns) / len(self._returns) if self._returns else None

    def add(
        self, returns: Mapping[str, float], length: int, *, is_success: bool | None = None
    ) -> dict[str, Any]:
        """Add an episode, given the return of each agent; return its metrics.

        `is_success` is None if the environment doesn't report whether the goal was reached.
        """
        self.count += 1
        self._returns.append(total := sum(returns.values()))
        self._lengths.append(length)
        if is_success is not None:
            self._successes.append(is_success)
        return {
            "agents": {
                name: {"reward": finite(return_), "length": length}
                for name, return_ in returns.items()
            },
            "reward": total,
            "episode_length": length,
            "mean_reward": sum(self._returns) / len(self._returns),
            "mean_length": sum(self._lengths) / len(self._lengths),
            **self._success_rate(),
        }

    def _success_rate(self) -> dict[str, float]:
        count = len(self._successes)
        return {"success_rate": sum(self._successes) / count} if count else {}
