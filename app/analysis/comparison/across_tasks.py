"""Results of methods over several environments: normalized scores and their aggregates."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.analysis.comparison.entries import Entry
from app.analysis.comparison.methods import Method, methods, mixed_settings
from app.analysis.comparison.numbers import Measured
from app.analysis.comparison.scoring import (
    SCORE_METRIC,
    ReadCurves,
    Scored,
    score_runs,
)
from app.analysis.comparison.tasks import (
    differences_from_reference,
    has_default_task,
    task_differences,
)
from app.catalog.environments import ReferenceScore, reference_score
from app.statistics import (
    Array,
    aggregate_interval,
    aggregate_iqm,
    aggregate_mean,
    aggregate_median,
    interquartile_mean,
    optimality_gap,
    performance_profile,
)
from storage.records import RunRecord, ScoreKind, View

_MIN_TASKS = 2
_TAUS = 101
_GRID = 200
_AGGREGATES = {
    "iqm": aggregate_iqm,
    "median": aggregate_median,
    "mean": aggregate_mean,
    "optimality_gap": optimality_gap,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An environment on which all methods were scored."""

    env_id: str
    random: float
    """Its score counts as 0."""
    reference: float
    """Its score counts as 1."""
    source: str
    """What the reference is."""
    score_kind: ScoreKind
    timesteps: int
    """The step at which the methods are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """The aggregates of a method's normalized scores over all tasks."""

    name: str
    keys: Sequence[str]
    """The keys of its entries."""
    runs: int
    iqm: Measured
    median: Measured
    mean: Measured
    optimality_gap: Measured
    area: Measured
    """Interquartile mean over runs of the area under the normalized learning curve."""
    scores: Mapping[str, float]
    """The interquartile mean of its scores on each task, not normalized."""
    normalized: Mapping[str, float]
    """The same, normalized."""
    profile: Sequence[float]
    """The share of runs whose normalized score is above each of `taus`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcrossTasks:
    """The comparison of methods over several environments."""

    tasks: Sequence[Task]
    methods: Sequence[MethodResult]
    taus: Sequence[float]
    notes: Sequence[str]
    """What was omitted, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measurements:
    """What was measured on one environment."""

    task: Task
    scored: Scored
    areas: Mapping[str, float]
    notes: Sequence[str]

    def of(self, method: Method) -> tuple[Array, Array]:
        """Return the normalized scores and areas of a method's runs."""
        runs = [run.id for entry in method.on(self.task.env_id) for run in entry.runs]
        known = [run_id for run_id in runs if run_id in self.areas]
        scores = [self.normalize(self.scored.by_run[run_id]) for run_id in known]
        return np.array(scores), np.array([self.normalize(self.areas[one]) for one in known])

    def normalize(self, score: float) -> float:
        """Return a score on the scale of the task."""
        task = self.task
        return ReferenceScore(task.random, task.reference, task.source).normalize(score)


async def compare_across(entries: Sequence[Entry], read: ReadCurves) -> AcrossTasks:
    """Compare methods over the environments of entries."""
    notes: list[str] = []
    measured: list[_Measurements] = []
    for env_id in dict.fromkeys(entry.env_id for entry in entries):
        runs = [run for entry in entries if entry.env_id == env_id for run in entry.runs]
        found = await _measure(env_id, [run for run in runs if run.progress.timesteps], read)
        if isinstance(found, str):
            notes.append(f"{env_id} is omitted: {found}.")
        else:
            measured.append(found)
            notes += found.notes
    known = methods(entries)
    notes += [
        f"{method.name} has runs with different settings on {env_id}, which count as its seeds; "
        "give them different names to compare them."
        for method in known
        for env_id in mixed_settings(method)
    ]
    chosen, tasks = _complete(known, measured, notes)
    # The bootstrap takes too long for the event loop.
    results, taus = await asyncio.to_thread(_results, chosen, tasks)
    return AcrossTasks(tasks=[one.task for one in tasks], methods=results, taus=taus, notes=notes)


def _results(
    chosen: Sequence[Method], tasks: Sequence[_Measurements]
) -> tuple[list[MethodResult], list[float]]:
    parts = [[one.of(method) for one in tasks] for method in chosen]
    taus = _taus([scores for part in parts for scores, _ in part])
    results = [
        _result(method, part, tasks, taus) for method, part in zip(chosen, parts, strict=True)
    ]
    return results, taus.round(4).tolist()


async def _measure(env_id: str, runs: Sequence[RunRecord], read: ReadCurves) -> _Measurements | str:
    """Return the measurements on an environment, or why there are none."""
    known = reference_score(env_id)
    if known is None:
        return "no random and reference score of it are known"
    scored = await score_runs(runs, read)
    if scored.timesteps is None:
        return "none of its runs has trained"
    if problem := _other_task(runs, scored.kind, known):
        return problem
    at = scored.timesteps
    areas = {run.id: await _area(run, at, read) for run in runs if run.id in scored.by_run}
    task = Task(
        env_id=env_id,
        random=known.random,
        reference=known.reference,
        source=known.source,
        score_kind=scored.kind,
        timesteps=at,
    )
    complete = {run_id: area for run_id, area in areas.items() if area is not None}
    differing = differences_from_reference(runs[0], scored.kind, known)
    notes = [
        f"The scores that count as 0 and 1 on {env_id} were measured with other options "
        f"({'; '.join(differing)})."
    ]
    return _Measurements(task=task, scored=scored, areas=complete, notes=notes if differing else ())


def _other_task(
    runs: Sequence[RunRecord], kind: ScoreKind, reference: ReferenceScore
) -> str | None:
    """Return which run has another task than the reference, or than the other runs, and how.

    The environment as it is counts as the task of the reference.
    """
    for run in runs:
        differing = differences_from_reference(run, kind, reference)
        if differing and not has_default_task(run, kind):
            return f"{run.name} has another task than the reference ({'; '.join(differing)})"
        if differing := task_differences(runs[0], run, kind):
            return f"the tasks of {runs[0].name} and {run.name} differ ({'; '.join(differing)})"
    return None


async def _area(run: RunRecord, at: int, read: ReadCurves) -> float | None:
    """Return the mean height of a run's learning curve up to a step; it ends with its last value.

    Before the first episodes have ended, it has the height of their mean.
    """
    view = View(names=(SCORE_METRIC,), end=at)
    curve = (await read(run, view)).by_name.get(SCORE_METRIC)
    if curve is None:
        return None
    xs, ys = (np.asarray(one, dtype=np.float64) for one in curve.means or curve.points)
    places = np.searchsorted(xs, np.linspace(0, at, _GRID), side="right") - 1
    return float(ys[np.maximum(places, 0)].mean())


def _complete(
    known: Sequence[Method], measured: Sequence[_Measurements], notes: list[str]
) -> tuple[list[Method], list[_Measurements]]:
    """Return methods and the tasks that all of them have; note what is omitted."""
    has = {method.name: [one for one in measured if len(one.of(method)[0])] for method in known}
    chosen = [method for method in known if len(has[method.name]) >= _MIN_TASKS]
    notes += [
        f"{method.name} is omitted: it has results on fewer than two environments with references."
        for method in known
        if method not in chosen
    ]
    tasks = [one for one in measured if all(one in has[method.name] for method in chosen)]
    notes += [
        f"{one.task.env_id} is omitted: not all methods have results on it."
        for one in measured
        if chosen and one not in tasks
    ]
    return (chosen, tasks) if len(tasks) >= _MIN_TASKS else ([], [])


def _result(
    method: Method,
    parts: Sequence[tuple[Array, Array]],
    tasks: Sequence[_Measurements],
    taus: Array,
) -> MethodResult:
    scores, areas = [one for one, _ in parts], [one for _, one in parts]
    runs = sum(map(len, scores))
    measured = {
        name: Measured(float(statistic(*scores)), aggregate_interval(statistic, scores), runs)
        for name, statistic in _AGGREGATES.items()
    }
    means = {
        one.task.env_id: float(interquartile_mean(part))
        for one, part in zip(tasks, scores, strict=True)
    }
    raw = {
        one.task.env_id: one.task.random
        + means[one.task.env_id] * (one.task.reference - one.task.random)
        for one in tasks
    }
    return MethodResult(
        name=method.name,
        keys=[entry.key for entry in method.entries],
        runs=runs,
        area=Measured(float(aggregate_iqm(*areas)), aggregate_interval(aggregate_iqm, areas), runs),
        scores=raw,
        normalized=means,
        profile=performance_profile(scores, taus).round(4).tolist(),
        **measured,
    )


def _taus(scores: Sequence[Array]) -> Array:
    """Return the thresholds of the profiles: from 0 to just above the best score."""
    best = max((float(one.max()) for one in scores), default=1.0)
    return np.linspace(0, max(1.0, 1.02 * best), _TAUS)
