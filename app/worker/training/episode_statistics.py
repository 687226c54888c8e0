"""Statistics of the finished episodes of a training."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from app.worker.training.metric_names import finite

_MEAN_OVER = 100


class EpisodeStatistics:
    """Counts episodes, and averages the returns and lengths of the most recent ones."""

    def __init__(self, counts: Mapping[str, Any]) -> None:
        """Continue from what `counts` returned."""
        self._returns: deque[float] = deque(counts["rewards"], maxlen=_MEAN_OVER)
        self._lengths: deque[int] = deque(counts["lengths"], maxlen=_MEAN_OVER)
        self.count: int = counts["episodes"]
        """The number of finished episodes."""

    def counts(self) -> dict[str, Any]:
        """Return the counters as they are stored in checkpoints."""
        return {
            "rewards": list(self._returns),
            "lengths": list(self._lengths),
            "episodes": self.count,
        }

    @property
    def mean_reward(self) -> float | None:
        """The mean return of the last 100 episodes; None before the first."""
        return sum(self._returns) / len(self._returns) if self._returns else None

    def add(self, returns: Mapping[str, float], length: int) -> dict[str, Any]:
        """Add an episode, given the return of each agent; return its metrics."""
        self.count += 1
        self._returns.append(total := sum(returns.values()))
        self._lengths.append(length)
        return {
            "agents": {
                name: {"reward": finite(return_), "length": length}
                for name, return_ in returns.items()
            },
            "reward": total,
            "episode_length": length,
            "mean_reward": sum(self._returns) / len(self._returns),
            "mean_length": sum(self._lengths) / len(self._lengths),
        }
