"""The final numbers of entries, with confidence intervals where there are enough samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.analysis.comparison.entries import Entry
from app.evaluation import Evaluation
from app.statistics import interquartile_mean, iqm_interval, mean_interval
from storage.records import RunRecord

EvaluationKind = Literal["final_policy", "periodic"]


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its 95 % interval, if there is one."""

    value: float
    ci95: tuple[float, float] | None = None
    of: int = 1
    """The number of seeds or episodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The final numbers of an entry; None where nothing was measured."""

    key: str
    seeds: int
    evaluation: Measured | None
    """For a run the mean over the episodes of an evaluation, for a group the interquartile mean
    over the evaluated seeds."""
    evaluation_kind: EvaluationKind | None
    """The last evaluations of the final policies if all runs have one, else the last periodic
    evaluations."""
    best: Measured | None
    """The best mean reward over 100 episodes."""
    final: Measured | None
    """The last mean reward over 100 episodes."""
    timesteps: int
    """For a group: of the run with the most steps."""
    elapsed_s: float
    """For a group: the mean over its runs."""
    solved: int
    """How many runs reached the solved threshold."""
    solved_at: int | None
    """The step at which it was reached; for a group the median over the solved runs."""


def numbers(
    entry: Entry,
    evaluations: Mapping[str, Evaluation | None],
    last_rewards: Mapping[str, Sequence[float]],
) -> Numbers:
    """Return the numbers of an entry.

    The last evaluations of final policies and the last rewards are given by run.
    """
    runs = entry.runs
    evaluation, kind = _evaluation(entry, evaluations)
    solved = sorted(run.progress.solved_at for run in runs if run.progress.solved_at is not None)
    return Numbers(
        key=entry.key,
        seeds=len(runs),
        evaluation=evaluation,
        evaluation_kind=kind,
        best=_over_seeds([run.progress.best for run in runs]),
        final=_final(entry, last_rewards),
        timesteps=max(run.progress.timesteps for run in runs),
        elapsed_s=sum(run.progress.elapsed_s for run in runs) / len(runs),
        solved=len(solved),
        solved_at=int(np.median(solved)) if solved else None,
    )


def final_reward(run: RunRecord) -> float | None:
    """Return the last mean reward of a run."""
    value = (run.latest or {}).get("mean_reward")
    return None if value is None else float(value)


def _evaluation(
    entry: Entry, evaluations: Mapping[str, Evaluation | None]
) -> tuple[Measured | None, EvaluationKind | None]:
    """Return the evaluation of an entry and its kind; kinds are not mixed."""
    found = [evaluations.get(run.id) for run in entry.runs]
    if not all(found):
        periodic = _over_seeds([_periodic(run) for run in entry.runs])
        return periodic, None if periodic is None else "periodic"
    complete = [one for one in found if one is not None]
    if entry.is_group:
        return _over_seeds([one.mean_return for one in complete]), "final_policy"
    (one,) = complete
    assert one.mean_return is not None
    return Measured(one.mean_return, one.ci95, one.episodes), "final_policy"


def _periodic(run: RunRecord) -> float | None:
    """Return the mean return of the last periodic evaluation."""
    value = (run.latest or {}).get("eval_reward")
    return None if value is None else float(value)


def _final(entry: Entry, last_rewards: Mapping[str, Sequence[float]]) -> Measured | None:
    if entry.is_group:
        return _over_seeds([final_reward(run) for run in entry.runs])
    run = entry.runs[0]
    value, rewards = final_reward(run), np.asarray(last_rewards.get(run.id, ()), dtype=np.float64)
    if value is None:
        return None
    return Measured(value, mean_interval(rewards), max(1, len(rewards)))


def _over_seeds(found: Sequence[float | None]) -> Measured | None:
    scores = np.array([score for score in found if score is not None], dtype=np.float64)
    if not len(scores):
        return None
    return Measured(float(interquartile_mean(scores)), iqm_interval(scores), len(scores))
