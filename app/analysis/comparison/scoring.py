"""The scores by which seeds are compared: of evaluations where all have them, else of training."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from app.runs import has_ended_solved
from storage.records import Curves, RunRecord, ScoreKind, View

SCORE_METRIC = "mean_reward"
"""The metric by which seeds are compared."""
_EVALUATION_METRIC = "eval_reward"
_NEWEST = 0.9
"""A periodic evaluation counts if its policy has this share of the steps that all have reached."""
_SAME_END = 1.05
"""Runs of one budget end within a rollout of each other."""

ReadCurves = Callable[[RunRecord, View], Awaitable[Curves]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The score of each run, all of one kind and up to one step."""

    kind: ScoreKind
    timesteps: int | None
    """The step up to which they count; None before any run has trained."""
    by_run: Mapping[str, float]


async def score_runs(runs: Sequence[RunRecord], read: ReadCurves) -> Scored:
    """Return comparable scores of runs: of final or periodic evaluations if all have them."""
    at = _last_common_step(runs)
    if at is None:
        return Scored(kind=ScoreKind.TRAINING_MEAN, timesteps=None, by_run={})
    if (found := _final_evaluations(runs, at)) is not None:
        return found
    if (found := await _periodic_evaluations(runs, at, read)) is not None:
        return found
    values = {run.id: await _last_value(run, at, read) for run in runs}
    known = {run_id: value for run_id, value in values.items() if value is not None}
    return Scored(kind=ScoreKind.TRAINING_MEAN, timesteps=at, by_run=known)


def _last_common_step(runs: Sequence[RunRecord]) -> int | None:
    """Return the last step that all have reached, apart from those that ended as solved."""
    ended = [run.progress.timesteps for run in runs if has_ended_solved(run)]
    others = [run.progress.timesteps for run in runs if not has_ended_solved(run)]
    return min(others) if others else max(ended, default=None)


def _final_evaluations(runs: Sequence[RunRecord], at: int) -> Scored | None:
    """Return the scores of the final policies if all were evaluated after the same training."""
    longest = max(run.progress.timesteps for run in runs)
    kinds = {run.score_kind for run in runs}
    if kinds != {ScoreKind.FINAL_EVALUATION} or longest > _SAME_END * at:
        return None
    scores = {run.id: run.score for run in runs if run.score is not None}
    if len(scores) < len(runs):
        return None
    return Scored(kind=ScoreKind.FINAL_EVALUATION, timesteps=at, by_run=scores)


async def _periodic_evaluations(
    runs: Sequence[RunRecord], at: int, read: ReadCurves
) -> Scored | None:
    found = {run.id: await _evaluations(run, at, read) for run in runs}
    if not all(found.values()):
        return None
    ends = [found[run.id][-1][0] for run in runs if not has_ended_solved(run)]
    end = min(ends, default=at)
    by_then = {run_id: [y for x, y in points if x <= end] for run_id, points in found.items()}
    if end < _NEWEST * at or not all(by_then.values()):
        return None
    scores = {run_id: values[-1] for run_id, values in by_then.items()}
    return Scored(kind=ScoreKind.LAST_EVALUATION, timesteps=int(end), by_run=scores)


async def _evaluations(run: RunRecord, at: int, read: ReadCurves) -> list[tuple[float, float]]:
    """Return the steps and mean returns of a run's periodic evaluations up to a step."""
    view = View(names=(_EVALUATION_METRIC,))
    curve = (await read(run, view)).by_name.get(_EVALUATION_METRIC)
    points = () if curve is None else zip(*curve.points, strict=True)
    return [(x, y) for x, y in points if x <= at]


async def _last_value(run: RunRecord, at: int, read: ReadCurves) -> float | None:
    """Return the last mean reward of a run up to a step, unrounded."""
    # A narrow window is not thinned out, but is empty if the last episode ended before it.
    end = min(at, run.progress.timesteps)
    for start in (end, None):
        view = View(names=(SCORE_METRIC,), start=start, end=end)
        curve = (await read(run, view)).by_name.get(SCORE_METRIC)
        points = () if curve is None else zip(*curve.points, strict=True)
        if by_then := [y for x, y in points if x <= at]:
            return by_then[-1]
    return None
