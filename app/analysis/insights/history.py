"""The metrics of a run in bounded memory, added line by line."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from storage.records import JsonObject

Array = np.ndarray[Any, np.dtype[np.float64]]

RECENT_EPISODES = 200

_MAX_POINTS = 512
_TRACKED = (
    "reward",
    "shaped_reward",
    "episode_length",
    "mean_reward",
    "fps",
    "loss",
    "policy_loss",
    "value_loss",
    "actor_loss",
    "critic_loss",
    "entropy",
    "max_entropy",
    "std",
    "approx_kl",
    "clip_fraction",
    "explained_variance",
    "learning_rate",
    "exploration_rate",
    "epochs",
    "grad_norm",
    "dead_units",
    "value_max",
    "value_min",
    "observation_max",
)


class Track:
    """One metric: each point is the mean of a bucket; buckets grow with the run."""

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = []
        self._stride = 1
        self._sum, self._count, self._step = 0.0, 0, 0

    def add(self, step: int, value: float) -> None:
        """Add a value measured at a step."""
        self._sum += value
        self._count += 1
        self._step = step
        if self._count < self._stride:
            return
        self._points.append((step, self._sum / self._count))
        self._sum, self._count = 0.0, 0
        if len(self._points) >= _MAX_POINTS:
            self._halve()

    def _halve(self) -> None:
        pairs = zip(self._points[::2], self._points[1::2], strict=True)
        self._points = [(step, (one + other) / 2) for (_, one), (step, other) in pairs]
        self._stride *= 2

    def points(self) -> tuple[Array, Array]:
        """Return the steps and the values, with the incomplete last bucket."""
        points = list(self._points)
        if self._count:
            points.append((self._step, self._sum / self._count))
        if not points:
            return np.empty(0), np.empty(0)
        steps, values = zip(*points, strict=True)
        return np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Episode:
    """The result of an episode."""

    timesteps: int
    reward: float
    length: int


class History:
    """The metrics of a run that the doctor needs; the size does not grow with the run."""

    def __init__(self) -> None:
        self.tracks: dict[str, Track] = {}
        self.recent: deque[Episode] = deque(maxlen=RECENT_EPISODES)
        self.first: list[Episode] = []
        """The first `RECENT_EPISODES` episodes."""
        self.timesteps = self.updates = self.episodes = 0
        self.elapsed_s = 0.0
        self.not_finite: Counter[str] = Counter()
        """How often each metric was NaN or infinite."""
        self.not_finite_at: int | None = None
        self._timed_at = 0

    def add(self, lines: Iterable[JsonObject]) -> None:
        """Add lines, in their order."""
        for line in lines:
            self._add(line)

    def track(self, name: str) -> tuple[Array, Array]:
        """Return the steps and the values of a metric; empty if it was never measured."""
        found = self.tracks.get(name)
        return found.points() if found is not None else (np.empty(0), np.empty(0))

    def _add(self, line: JsonObject) -> None:
        step = line.get("timesteps")
        if not isinstance(step, int):
            return  # The file is damaged.
        self.timesteps = step
        self.updates = int(line.get("updates") or self.updates)
        self.episodes = int(line.get("episode") or self.episodes)
        self.elapsed_s = float(line.get("elapsed_s") or self.elapsed_s)
        for name in _TRACKED:
            if name not in line:
                continue
            match line[name]:
                case None:
                    self._note_not_finite(name, step)
                case int() | float() as value:
                    self._track(name, step, float(value))
        self._add_episode(line, step)
        self._add_times(line, step)

    def _track(self, name: str, step: int, value: float) -> None:
        if (track := self.tracks.get(name)) is None:
            track = self.tracks[name] = Track()
        track.add(step, value)

    def _note_not_finite(self, name: str, step: int) -> None:
        self.not_finite[name] += 1
        if self.not_finite_at is None:
            self.not_finite_at = step

    def _add_episode(self, line: JsonObject, step: int) -> None:
        reward, length = line.get("reward"), line.get("episode_length")
        if reward is None or length is None:
            return
        episode = Episode(step, float(reward), int(length))
        self.recent.append(episode)
        if len(self.first) < RECENT_EPISODES:
            self.first.append(episode)

    def _add_times(self, line: JsonObject, step: int) -> None:
        """Convert seconds since the last update to microseconds per step, which are comparable."""
        if line.get("collect_s") is None or step <= self._timed_at:
            return
        steps, self._timed_at = step - self._timed_at, step
        for name in ("collect", "learn"):
            if (seconds := line.get(f"{name}_s")) is not None:
                self._track(f"{name}_us_per_step", step, seconds * 1e6 / steps)
