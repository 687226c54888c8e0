"""Conclusions: which of two entries is better, and whether the seeds suffice to say so."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.statistics import (
    effect_size,
    improvement_interval,
    permutation_p_value,
    probability_of_improvement,
    seeds_needed,
)
from storage.records import ScoreKind

_SIGNIFICANCE_LEVEL = 0.05
_MIN_SEEDS = 4
"""With fewer per side the rank-sum test can't be significant, even without any overlap."""
_MAX_SEEDS = 100
"""A higher number is not suggested."""
_EFFECTS = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))

COMPARISON_METHOD = (
    "Compares one score of each seed: of its final evaluation if all seeds have one; else of the "
    "last periodic evaluation that all have; else the mean reward of the last 100 training "
    "episodes at the last step that all have reached. A seed that stopped because it had solved "
    "the task keeps its last score. Probability of improvement as in rliable (Mann-Whitney, ties "
    "count half) with Newcombe's interval (method 5), since rliable's bootstrap has no width where "
    "all pairs agree; effect size: Hedges' g. A difference is significant if the rank-sum "
    "permutation test gives p < 0.05, with Holm's correction for several pairs. Seeds needed: "
    "Noether's formula for 80 % power at the observed effect. Nothing is concluded where the tasks "
    "differ in the environment's options, time limit or other wrappers (frame stacking and "
    "normalization don't change the task, nor do disturbances that evaluations leave out), or "
    "where the actions of periodic evaluations are sampled in some runs only."
)


Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of an entry at one step, one per seed."""

    key: str
    name: str
    values: Sequence[float]
    returns: Sequence[float] = ()
    """Episode returns of the last evaluation of a single run's final policy."""
    task_differences: Sequence[str] = ()
    """How its task differs from that of the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The result of comparing one entry with another."""

    ours: str
    theirs: str
    timesteps: int | None
    """The step at which they were compared."""
    seeds: tuple[int, int]
    probability: float | None
    """The probability that a seed of ours beats one of theirs."""
    ci95: tuple[float, float] | None
    effect: float | None
    chance: float | None
    """The p-value of the permutation test."""
    is_told: bool
    """Whether the difference is significant."""
    more_seeds: int | None
    """How many more the side with fewer seeds needs; None: too many, or none."""
    sentence: str
    agents: str | None = None
    """A sentence that compares the two policies by the episodes of their last evaluations."""
    score_kind: ScoreKind = ScoreKind.TRAINING_MEAN
    """What was compared."""
    task_differences: Sequence[str] = ()
    """How their tasks differ; then nothing is concluded."""


def conclude(
    ours: Scores,
    theirs: Sequence[Scores],
    at: int | None,
    score_kind: ScoreKind = ScoreKind.TRAINING_MEAN,
) -> list[Conclusion]:
    """Compare one entry with each of the others."""
    p_values = [_p_value(ours, other) for other in theirs]
    significant = _significant(p_values)
    return [
        replace(
            _conclusion(ours, other, p_value, is_significant=is_significant),
            timesteps=at,
            score_kind=score_kind,
        )
        for other, p_value, is_significant in zip(theirs, p_values, significant, strict=True)
    ]


def _p_value(ours: Scores, theirs: Scores) -> float | None:
    if theirs.task_differences or min(len(ours.values), len(theirs.values)) < 2:
        return None
    return permutation_p_value(np.asarray(ours.values), np.asarray(theirs.values))


def _significant(p_values: Sequence[float | None]) -> list[bool]:
    """Return which differences are significant after Holm's correction for several pairs."""
    known = sorted((p_value, i) for i, p_value in enumerate(p_values) if p_value is not None)
    significant = [False] * len(p_values)
    for rank, (p_value, i) in enumerate(known):
        if p_value >= _SIGNIFICANCE_LEVEL / (len(known) - rank):
            break
        significant[i] = True
    return significant


def _conclusion(
    ours: Scores, theirs: Scores, p_value: float | None, *, is_significant: bool
) -> Conclusion:
    a, b = np.asarray(ours.values, dtype=float), np.asarray(theirs.values, dtype=float)
    probability = float(probability_of_improvement(a, b)) if len(a) and len(b) else None
    if is_significant or probability is None or theirs.task_differences:
        more_seeds = None
    else:
        more_seeds = _more_seeds(probability, len(a), len(b))
    conclusion = Conclusion(
        ours=ours.key,
        theirs=theirs.key,
        timesteps=None,
        seeds=(len(a), len(b)),
        probability=probability,
        ci95=improvement_interval(a, b),
        effect=effect_size(a, b),
        chance=p_value,
        is_told=is_significant,
        more_seeds=more_seeds,
        sentence="",
        task_differences=theirs.task_differences,
    )
    sentence = _sentence(conclusion, ours.name, theirs.name)
    return replace(conclusion, sentence=sentence, agents=_agents_text(ours, theirs))


def _more_seeds(probability: float, ours: int, theirs: int) -> int | None:
    fewest = min(ours, theirs)
    needed = _MIN_SEEDS if fewest < 2 else seeds_needed(probability)
    if needed is None or needed > _MAX_SEEDS:
        return None
    return max(1, needed - fewest)


def _sentence(conclusion: Conclusion, ours: str, theirs: str) -> str:
    if conclusion.probability is None:
        return f"{ours} and {theirs} have no common step yet at which both were measured."
    if conclusion.task_differences:
        return _other_task_text(conclusion, ours, theirs)
    if min(conclusion.seeds) < 2:
        return _one_seed_text(conclusion, ours, theirs)
    better, worse, share, interval = _ordered(conclusion, ours, theirs)
    if conclusion.is_told:
        odds = f"with a probability of {_odds(share, interval)}{_effect_text(conclusion)}"
        return f"{better} beats {worse} {odds}."
    # The interval would say that it may be either; the number of seeds needed says more.
    ahead = f"So far {better} is ahead of {worse} in {share:.0%} of all pairs of their seeds."
    return f"Not enough seeds to tell. {ahead} {_more_seeds_text(conclusion)}"


def _other_task_text(conclusion: Conclusion, ours: str, theirs: str) -> str:
    better, worse, share, _ = _ordered(conclusion, ours, theirs)
    return (
        f"The tasks of {ours} and {theirs} differ ({'; '.join(conclusion.task_differences)}), so "
        f"nothing is concluded. The scores of {better} are higher than those of {worse} in "
        f"{share:.0%} of all pairs of their seeds, but may mean something else."
    )


def _one_seed_text(conclusion: Conclusion, ours: str, theirs: str) -> str:
    side = "One seed each says" if max(conclusion.seeds) < 2 else "One seed on one side says"
    return (
        f"Not enough seeds to tell. {side} nothing about the variation between seeds of {ours} "
        f"and {theirs}. {_more_seeds_text(conclusion)}"
    )


def _agents_text(ours: Scores, theirs: Scores) -> str | None:
    a, b = np.asarray(ours.returns, dtype=float), np.asarray(theirs.returns, dtype=float)
    if theirs.task_differences or min(len(a), len(b)) < 2:
        return None
    share = float(probability_of_improvement(a, b))
    return (
        f"These two policies: an episode of {ours.name} beats one of {theirs.name} with "
        f"a probability of {_odds(share, improvement_interval(a, b))}, by {len(a)} and {len(b)} "
        "episodes of the last evaluations of their final policies."
    )


def _odds(share: float, interval: Interval | None) -> str:
    """Write a probability with its interval; all of few pairs are no certainty."""
    low, high = interval or (0.0, 1.0)
    if share in (0, 1) and interval is None:
        return f"{share:.0%} in the few that were compared"
    if share == 1:
        return f"at least {low:.0%} (all pairs agree)"
    if share == 0:
        return f"at most {high:.0%} (all pairs agree)"
    # Neither 99.6 % nor 0.4 % is a certainty.
    rounded = f"{min(0.99, max(0.01, share)):.0%}"
    return rounded if interval is None else f"{rounded} ({low:.0%} to {high:.0%})"


def _ordered(
    conclusion: Conclusion, ours: str, theirs: str
) -> tuple[str, str, float, Interval | None]:
    """Return the better and the worse, with the probability of improvement and its interval."""
    assert conclusion.probability is not None
    if conclusion.probability >= 0.5:
        return ours, theirs, conclusion.probability, conclusion.ci95
    reversed_ends = conclusion.ci95 and (1 - conclusion.ci95[1], 1 - conclusion.ci95[0])
    return theirs, ours, 1 - conclusion.probability, reversed_ends


def _effect_text(conclusion: Conclusion) -> str:
    if conclusion.effect is None:
        return ""
    size = abs(conclusion.effect)
    word = next((word for bound, word in _EFFECTS if size < bound), "large")
    return f"; the effect is {word} (g = {size:.2f})"


def _more_seeds_text(conclusion: Conclusion) -> str:
    if conclusion.more_seeds is None:
        return f"They are so close that {_MAX_SEEDS} seeds each would hardly suffice."
    fewest = min(conclusion.seeds)
    more = conclusion.more_seeds
    return f"About {fewest + more} seeds each would suffice: {more} more than the {fewest} now."
