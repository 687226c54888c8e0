"""What several seeds say together: one curve with its uncertainty, and numbers that hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from app.statistics.bands import band
from app.statistics.estimators import Array, bootstrap_interval, interquartile_mean
from storage.records.runs import JsonObject

GROUP_METRICS = ("timesteps", "mean_reward")
"""What of each line a curve is made of."""

_GRID = 100


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
    first = max(steps[0] for steps, _ in series)
    last = max(steps[-1] for steps, _ in series)
    together = band(series, np.unique(np.linspace(first, last, _GRID).astype(int)).astype(float))
    return [
        GroupPoint(
            timesteps=int(step), iqm=round(iqm, 4), low=round(low, 4), high=round(high, 4), seeds=n
        )
        for step, iqm, low, high, n in zip(
            together.grid.tolist(),
            together.middle.tolist(),
            together.low.tolist(),
            together.high.tolist(),
            together.seeds,
            strict=True,
        )
    ]


def group_statistics(latest: Sequence[Mapping[str, Any]]) -> GroupStatistics | None:
    """Return what the newest values of the runs come to, or None before there is any."""
    found = [one["mean_reward"] for one in latest if one.get("mean_reward") is not None]
    if not found:
        return None
    scores = np.array(found, dtype=np.float64)
    low, high = bootstrap_interval(interquartile_mean, scores)
    return GroupStatistics(
        seeds=len(scores),
        mean=float(scores.mean()),
        std=float(scores.std(ddof=1)) if len(scores) > 1 else None,
        median=float(np.median(scores)),
        iqm=float(interquartile_mean(scores)),
        ci95=(low, high),
        best=float(scores.max()),
        worst=float(scores.min()),
    )


@lru_cache(maxsize=512)
def typical(scores: tuple[float, ...]) -> tuple[float, float, float]:
    """Return the interquartile mean of some runs' scores and its 95 % interval."""
    found = np.array(scores, dtype=np.float64)
    low, high = bootstrap_interval(interquartile_mean, found)
    return float(interquartile_mean(found)), low, high


def _steps_and_values(history: Sequence[JsonObject]) -> tuple[Array, Array] | None:
    found = [line for line in history if line.get("mean_reward") is not None]
    if not found:
        return None
    steps = np.array([line["timesteps"] for line in found], dtype=np.float64)
    return steps, np.array([line["mean_reward"] for line in found], dtype=np.float64)
