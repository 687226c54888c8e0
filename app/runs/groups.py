"""Aggregate the runs of a seed group: one curve with its uncertainty, and robust statistics."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isnan

import numpy as np

from app.statistics import Array, band, interquartile_mean, iqm_interval
from storage.records import JsonObject, RunRecord, RunStatus, ScoreKind

GROUP_METRICS = ("timesteps", "mean_reward")
"""The metrics that a curve needs."""

_GRID = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPoint:
    """The score of the group at some step."""

    timesteps: int
    iqm: float
    low: float | None
    """The 95 % interval up to `high`; None below three seeds, or if all are equal."""
    high: float | None
    seeds: int
    """Number of runs that had trained to this step, or had solved the task before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatistics:
    """Statistics over the scores of the runs, which are all of one kind."""

    seeds: int
    mean: float
    std: float | None
    median: float
    iqm: float
    ci95: tuple[float, float] | None
    """95 % confidence interval of `iqm`; None below three seeds, or if all are equal."""
    best: float
    worst: float
    score_kind: ScoreKind
    """The kind of the scores: the best that all measured runs have."""


def group_curve(
    histories: Sequence[Sequence[JsonObject]], ends: Sequence[float] | None = None
) -> list[GroupPoint]:
    """Return the interquartile mean over seeds on a common grid of steps, with its interval.

    Each run contributes its last mean reward before a grid point, up to its end (by default its
    last step with a mean reward); see `ends_of`.
    """
    series = [_steps_and_values(history) for history in histories]
    measured = [steps for steps, _ in series if len(steps)]
    if not measured:
        return []
    lasts = [float(steps[-1]) if len(steps) else 0.0 for steps, _ in series]
    ends = lasts if ends is None else ends
    first = max(float(steps[0]) for steps in measured)
    last = max([*lasts, *(end for end in ends if end != inf)])
    grid = np.unique(np.linspace(first, last, _GRID).astype(int)).astype(float)
    found = band(series, grid, ends=ends)
    return [
        GroupPoint(timesteps=int(step), iqm=round(iqm, 4), low=low, high=high, seeds=seeds)
        for step, iqm, low, high, seeds in zip(
            found.grid.tolist(),
            found.middle.tolist(),
            map(_rounded, found.low.tolist()),
            map(_rounded, found.high.tolist()),
            found.seeds,
            strict=True,
        )
    ]


def ends_of(members: Sequence[RunRecord], axis: str = "timesteps") -> list[float]:
    """Return how far on an axis the last value of each run of a group holds.

    To where it has trained; without end if it stopped because it had solved the task, since the
    curve of the group would otherwise be that of the runs that failed.
    """
    name = "episodes" if axis == "episode" else axis
    return [inf if has_ended_solved(run) else getattr(run.progress, name) for run in members]


def has_ended_solved(run: RunRecord) -> bool:
    """Whether a run ended before its budget was used, because the task was solved."""
    is_early = run.progress.timesteps < run.total_timesteps
    return run.status is RunStatus.COMPLETED and run.progress.solved_at is not None and is_early


def group_statistics(members: Sequence[RunRecord]) -> GroupStatistics | None:
    """Return statistics over the scores of the runs, None before there are any."""
    found, kind = scores_of_one_kind(members)
    if not found:
        return None
    scores = np.array(found, dtype=np.float64)
    return GroupStatistics(
        seeds=len(scores),
        mean=float(scores.mean()),
        std=float(scores.std(ddof=1)) if len(scores) > 1 else None,
        median=float(np.median(scores)),
        iqm=float(interquartile_mean(scores)),
        ci95=iqm_interval(scores),
        best=float(scores.max()),
        worst=float(scores.min()),
        score_kind=kind,
    )


def group_name(members: Sequence[RunRecord]) -> str:
    """Return the name of a group: that of its first run without the seed."""
    return re.sub(r", seed \d+$", "", members[0].name)


@lru_cache(maxsize=512)
def iqm_with_interval(scores: tuple[float, ...]) -> tuple[float, tuple[float, float] | None]:
    """Return the interquartile mean of some runs' scores and its 95 % interval, if there is one."""
    found = np.array(scores, dtype=np.float64)
    return float(interquartile_mean(found)), iqm_interval(found)


def scores_of_one_kind(members: Sequence[RunRecord]) -> tuple[list[float], ScoreKind]:
    """Return the scores of runs, all of the best kind that every measured run has."""
    found = [run.scores for run in members if run.scores]
    shared = [kind for kind in ScoreKind if all(kind in scores for scores in found)]
    kind = shared[0] if found and shared else ScoreKind.TRAINING_MEAN
    return [scores[kind] for scores in found if kind in scores], kind


def _rounded(value: float) -> float | None:
    return None if isnan(value) else round(value, 4)


def _steps_and_values(history: Sequence[JsonObject]) -> tuple[Array, Array]:
    found = [line for line in history if line.get("mean_reward") is not None]
    steps = np.array([line["timesteps"] for line in found], dtype=np.float64)
    return steps, np.array([line["mean_reward"] for line in found], dtype=np.float64)
