"""Which of two is better, in a sentence that says no more than the seeds do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.statistics.estimators import (
    bootstrap_interval,
    chance_of_such_a_difference,
    effect_size,
    probability_of_improvement,
    seeds_needed,
)

_SURE_BELOW = 0.05
_LEAST_SEEDS = 4
"""With fewer on both sides the rank-sum test can't tell even what never overlaps."""
_MOST_SEEDS = 100
"""More than anybody trains to find out."""
_EFFECTS = ((0.2, "negligible"), (0.5, "small"), (0.8, "medium"))

METHOD = (
    "Compared is the mean reward over 100 episodes of each seed at the last step that all have "
    "reached. The probability is that of rliable (Mann-Whitney, ties count half) with a stratified "
    "bootstrap interval; the effect size is Hedges' g. It counts as told when the rank-sum "
    "permutation test gives less than 5 %, by Holm's rule where there are several pairs. Seeds "
    "needed: Noether's formula for 80 % power, if the difference is as large as it looks now."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of an entry at some step, one per seed."""

    key: str
    name: str
    values: Sequence[float]
    returns: Sequence[float] = ()
    """Of the episodes of a single run's last evaluation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What can be said about one entry against another."""

    ours: str
    theirs: str
    timesteps: int | None
    """At which step they were compared."""
    seeds: tuple[int, int]
    probability: float | None
    """How likely a seed of ours beats one of theirs."""
    ci95: tuple[float, float] | None
    effect: float | None
    chance: float | None
    """The p of the permutation test."""
    is_told: bool
    """Whether there are enough seeds to tell them apart."""
    more_seeds: int | None
    """How many more the side with fewer needs to tell; None: too many, or none."""
    sentence: str
    agents: str | None = None
    """What their last evaluations say about the two agents as they are, whatever the settings."""


def judge(ours: Scores, theirs: Sequence[Scores], at: int | None) -> list[Verdict]:
    """Return what can be said about one entry against each of the others."""
    chances = [_chance(ours, other) for other in theirs]
    told = _told(chances)
    return [
        _verdict(ours, other, at, chance, is_told=sure)
        for other, chance, sure in zip(theirs, chances, told, strict=True)
    ]


def _chance(ours: Scores, theirs: Scores) -> float | None:
    if min(len(ours.values), len(theirs.values)) < 2:
        return None
    return chance_of_such_a_difference(np.asarray(ours.values), np.asarray(theirs.values))


def _told(chances: Sequence[float | None]) -> list[bool]:
    """Return which differences can be told, by Holm's rule: one more pair, one more way to err."""
    known = sorted((chance, i) for i, chance in enumerate(chances) if chance is not None)
    told = [False] * len(chances)
    for place, (chance, i) in enumerate(known):
        if chance >= _SURE_BELOW / (len(known) - place):
            break
        told[i] = True
    return told


def _verdict(
    ours: Scores, theirs: Scores, at: int | None, chance: float | None, *, is_told: bool
) -> Verdict:
    a, b = np.asarray(ours.values, dtype=float), np.asarray(theirs.values, dtype=float)
    probability = float(probability_of_improvement(a, b)) if len(a) and len(b) else None
    has_spread = min(len(a), len(b)) > 1
    more = None if is_told or probability is None else _more(probability, len(a), len(b))
    verdict = Verdict(
        ours=ours.key,
        theirs=theirs.key,
        timesteps=at,
        seeds=(len(a), len(b)),
        probability=probability,
        ci95=bootstrap_interval(probability_of_improvement, a, b) if has_spread else None,
        effect=effect_size(a, b),
        chance=chance,
        is_told=is_told,
        more_seeds=more,
        sentence="",
    )
    sentence = _sentence(verdict, ours.name, theirs.name)
    return replace(verdict, sentence=sentence, agents=_agents(ours, theirs))


def _more(probability: float, ours: int, theirs: int) -> int | None:
    fewest = min(ours, theirs)
    needed = _LEAST_SEEDS if fewest < 2 else seeds_needed(probability)
    if needed is None or needed > _MOST_SEEDS:
        return None
    return max(1, needed - fewest)


def _sentence(verdict: Verdict, ours: str, theirs: str) -> str:
    if verdict.probability is None:
        return f"{ours} and {theirs} have no step in common yet at which both were measured."
    if min(verdict.seeds) < 2:
        return _with_one_seed(verdict, ours, theirs)
    better, worse, share, ends = _sides(verdict, ours, theirs)
    if verdict.is_told:
        odds = f"with a probability of {share:.0%} ({ends}){_effect(verdict)}"
        return f"{better} beats {worse} {odds}."
    # An interval from so few would look surer than it is.
    ahead = f"So far {better} is ahead of {worse} in {share:.0%} of all pairs of their seeds."
    return f"Not enough seeds to tell. {ahead} {_wish(verdict)}"


def _with_one_seed(verdict: Verdict, ours: str, theirs: str) -> str:
    side = "One seed each says" if max(verdict.seeds) < 2 else "One seed on one side says"
    return (
        f"Not enough seeds to tell. {side} nothing about how much chance there is between {ours} "
        f"and {theirs}. {_wish(verdict)}"
    )


def _agents(ours: Scores, theirs: Scores) -> str | None:
    a, b = np.asarray(ours.returns, dtype=float), np.asarray(theirs.returns, dtype=float)
    if min(len(a), len(b)) < 2:
        return None
    share = float(probability_of_improvement(a, b))
    low, high = bootstrap_interval(probability_of_improvement, a, b)
    return (
        f"These two agents as they are: an episode of {ours.name} beats one of {theirs.name} with "
        f"a probability of {share:.0%} ({low:.0%} to {high:.0%}), by {len(a)} and {len(b)} "
        "episodes of their last evaluations."
    )


def _sides(verdict: Verdict, ours: str, theirs: str) -> tuple[str, str, float, str]:
    """Return who is ahead, who isn't, how likely, and between what: the larger share first."""
    assert verdict.probability is not None
    low, high = verdict.ci95 or (0.0, 1.0)
    if verdict.probability >= 0.5:
        return ours, theirs, verdict.probability, f"{low:.0%} to {high:.0%}"
    return theirs, ours, 1 - verdict.probability, f"{1 - high:.0%} to {1 - low:.0%}"


def _effect(verdict: Verdict) -> str:
    if verdict.effect is None:
        return ""
    size = abs(verdict.effect)
    word = next((word for least, word in _EFFECTS if size < least), "large")
    return f"; the effect is {word} (g = {size:.2f})"


def _wish(verdict: Verdict) -> str:
    if verdict.more_seeds is None:
        return f"They are so close that {_MOST_SEEDS} seeds each would hardly do."
    fewest = min(verdict.seeds)
    wanted = fewest + verdict.more_seeds
    return f"About {wanted} seeds each would do: {verdict.more_seeds} more than the {fewest} now."
