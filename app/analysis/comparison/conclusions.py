"""Conclusions: which of two entries is better, and whether the seeds suffice to say so."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.statistics import (
    bootstrap_interval,
    effect_size,
    permutation_p_value,
    probability_of_improvement,
    seeds_needed,
)

_SIGNIFICANCE_LEVEL = 0.05
_MIN_SEEDS = 4
"""With fewer per side the rank-sum test can't be significant, even without any overlap."""
_MAX_SEEDS = 100
"""A higher number is not suggested."""
_EFFECTS = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))

COMPARISON_METHOD = (
    "Compares the mean reward over 100 episodes of each seed at the last step that all have "
    "reached. Probability of improvement as in rliable (Mann-Whitney, ties count half) with a "
    "stratified bootstrap interval; effect size: Hedges' g. A difference is significant if the "
    "rank-sum permutation test gives p < 0.05, with Holm's correction for several pairs. Seeds "
    "needed: Noether's formula for 80 % power at the observed effect."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of an entry at one step, one per seed."""

    key: str
    name: str
    values: Sequence[float]
    returns: Sequence[float] = ()
    """Episode returns of the last evaluation of a single run."""


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


def conclude(ours: Scores, theirs: Sequence[Scores], at: int | None) -> list[Conclusion]:
    """Compare one entry with each of the others."""
    p_values = [_p_value(ours, other) for other in theirs]
    significant = _significant(p_values)
    return [
        _conclusion(ours, other, at, p_value, is_significant=is_significant)
        for other, p_value, is_significant in zip(theirs, p_values, significant, strict=True)
    ]


def _p_value(ours: Scores, theirs: Scores) -> float | None:
    if min(len(ours.values), len(theirs.values)) < 2:
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
    ours: Scores, theirs: Scores, at: int | None, p_value: float | None, *, is_significant: bool
) -> Conclusion:
    a, b = np.asarray(ours.values, dtype=float), np.asarray(theirs.values, dtype=float)
    probability = float(probability_of_improvement(a, b)) if len(a) and len(b) else None
    has_spread = min(len(a), len(b)) > 1
    if is_significant or probability is None:
        more_seeds = None
    else:
        more_seeds = _more_seeds(probability, len(a), len(b))
    conclusion = Conclusion(
        ours=ours.key,
        theirs=theirs.key,
        timesteps=at,
        seeds=(len(a), len(b)),
        probability=probability,
        ci95=bootstrap_interval(probability_of_improvement, a, b) if has_spread else None,
        effect=effect_size(a, b),
        chance=p_value,
        is_told=is_significant,
        more_seeds=more_seeds,
        sentence="",
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
    if min(conclusion.seeds) < 2:
        return _one_seed_text(conclusion, ours, theirs)
    better, worse, share, ends = _ordered(conclusion, ours, theirs)
    if conclusion.is_told:
        odds = f"with a probability of {share:.0%} ({ends}){_effect_text(conclusion)}"
        return f"{better} beats {worse} {odds}."
    # A bootstrap interval from so few seeds is too narrow to be shown.
    ahead = f"So far {better} is ahead of {worse} in {share:.0%} of all pairs of their seeds."
    return f"Not enough seeds to tell. {ahead} {_more_seeds_text(conclusion)}"


def _one_seed_text(conclusion: Conclusion, ours: str, theirs: str) -> str:
    side = "One seed each says" if max(conclusion.seeds) < 2 else "One seed on one side says"
    return (
        f"Not enough seeds to tell. {side} nothing about the variation between seeds of {ours} "
        f"and {theirs}. {_more_seeds_text(conclusion)}"
    )


def _agents_text(ours: Scores, theirs: Scores) -> str | None:
    a, b = np.asarray(ours.returns, dtype=float), np.asarray(theirs.returns, dtype=float)
    if min(len(a), len(b)) < 2:
        return None
    share = float(probability_of_improvement(a, b))
    low, high = bootstrap_interval(probability_of_improvement, a, b)
    return (
        f"These two policies: an episode of {ours.name} beats one of {theirs.name} with "
        f"a probability of {share:.0%} ({low:.0%} to {high:.0%}), by {len(a)} and {len(b)} "
        "episodes of their last evaluations."
    )


def _ordered(conclusion: Conclusion, ours: str, theirs: str) -> tuple[str, str, float, str]:
    """Return the better and the worse, with the probability of improvement and its interval."""
    assert conclusion.probability is not None
    low, high = conclusion.ci95 or (0.0, 1.0)
    if conclusion.probability >= 0.5:
        return ours, theirs, conclusion.probability, f"{low:.0%} to {high:.0%}"
    return theirs, ours, 1 - conclusion.probability, f"{1 - high:.0%} to {1 - low:.0%}"


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
