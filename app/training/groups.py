"""What several seeds say together: one curve with its uncertainty, and numbers that hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from storage.records import JsonObject

GROUP_METRICS = ("timesteps", "mean_reward")
"""What of each line a curve is made of."""

_GRID = 100
_RESAMPLES = 1_000
_TRIMMED = 0.25
"""The share that the interquartile mean leaves out at either end."""
_SEED = 0
"""So that the same runs have the same band each time one looks."""

_Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPoint:
    """What the group had reached at some step; low and high are a 95 % interval."""

    timesteps: int
    iqm: float
    low: float
    high: float
    seeds: int
    """How many of its runs had come that far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatistics:
    """The last mean reward of each run, taken together."""

    seeds: int
    mean: float
    std: float | None
    median: float
    iqm: float
    ci95: tuple[float, float]
    best: float
    worst: float


def group_curve(histories: Sequence[Sequence[JsonObject]]) -> list[GroupPoint]:
    """Return the interquartile mean over seeds on a common grid of steps, with a bootstrap band.

    Each run counts with its last mean reward before a grid point, and only as far as it has come.
    """
    series = [one for one in map(_steps_and_values, histories) if one is not None]
    if not series:
        return []
    first = max(int(steps[0]) for steps, _ in series)
    last = max(int(steps[-1]) for steps, _ in series)
    grid = np.unique(np.linspace(first, last, _GRID).astype(int))
    points = []
    for step in grid:
        reached = [
            values[np.searchsorted(steps, step, side="right") - 1]
            for steps, values in series
            if steps[-1] >= step
        ]
        low, high = interval(np.array(reached))
        points.append(
            GroupPoint(
                timesteps=int(step),
                iqm=round(_iqm(np.array(reached)), 4),
                low=round(low, 4),
                high=round(high, 4),
                seeds=len(reached),
            )
        )
    return points


def group_statistics(latest: Sequence[Mapping[str, Any]]) -> GroupStatistics | None:
    """Return what the newest values of the runs come to, or None before there is any."""
    found = [one["mean_reward"] for one in latest if one.get("mean_reward") is not None]
    if not found:
        return None
    scores = np.array(found, dtype=np.float64)
    low, high = interval(scores)
    return GroupStatistics(
        seeds=len(scores),
        mean=float(scores.mean()),
        std=float(scores.std(ddof=1)) if len(scores) > 1 else None,
        median=float(np.median(scores)),
        iqm=_iqm(scores),
        ci95=(low, high),
        best=float(scores.max()),
        worst=float(scores.min()),
    )


def interval(scores: _Array) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the interquartile mean."""
    random = np.random.default_rng(_SEED)
    drawn = scores[random.integers(len(scores), size=(_RESAMPLES, len(scores)))]
    means = _trimmed_means(drawn)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _iqm(scores: _Array) -> float:
    return float(_trimmed_means(scores[np.newaxis])[0])


def _trimmed_means(samples: _Array) -> _Array:
    cut = int(samples.shape[1] * _TRIMMED)
    kept = np.sort(samples, axis=1)[:, cut : samples.shape[1] - cut]
    means: _Array = kept.mean(axis=1)
    return means


def _steps_and_values(history: Sequence[JsonObject]) -> tuple[_Array, _Array] | None:
    found = [line for line in history if line.get("mean_reward") is not None]
    if not found:
        return None
    steps = np.array([line["timesteps"] for line in found], dtype=np.float64)
    return steps, np.array([line["mean_reward"] for line in found], dtype=np.float64)
