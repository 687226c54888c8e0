"""Aggregate the runs of a seed group: one curve with its uncertainty, and robust statistics."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from app.statistics import Array, band, bootstrap_interval, interquartile_mean
from storage.records import JsonObject, RunRecord

GROUP_METRICS = ("timesteps", "mean_reward")
"""The metrics that a curve needs."""

_GRID = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPoint:
    """The score of the group at some step; low and high are a 95 % interval."""

    timesteps: int
    iqm: float
    low: float
    high: float
    seeds: int
    """Number of runs that had reached this step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatistics:
    """Statistics over the last mean reward of each run."""

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

    Each run contributes its last mean reward before a grid point, up to its own last step.
    """
    series = [one for one in map(_steps_and_values, histories) if one is not None]
    if not series:
        return []
    first = max(steps[0] for steps, _ in series)
    last = max(steps[-1] for steps, _ in series)
    aggregate = band(series, np.unique(np.linspace(first, last, _GRID).astype(int)).astype(float))
    return [
        GroupPoint(
            timesteps=int(step), iqm=round(iqm, 4), low=round(low, 4), high=round(high, 4), seeds=n
        )
        for step, iqm, low, high, n in zip(
            aggregate.grid.tolist(),
            aggregate.middle.tolist(),
            aggregate.low.tolist(),
            aggregate.high.tolist(),
            aggregate.seeds,
            strict=True,
        )
    ]


def group_statistics(latest: Sequence[Mapping[str, Any]]) -> GroupStatistics | None:
    """Return statistics over the newest values of the runs, None before there are any."""
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


def group_name(members: Sequence[RunRecord]) -> str:
    """Return the name of a group: that of its first run without the seed."""
    return re.sub(r", seed \d+$", "", members[0].name)


@lru_cache(maxsize=512)
def iqm_with_interval(scores: tuple[float, ...]) -> tuple[float, float, float]:
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
