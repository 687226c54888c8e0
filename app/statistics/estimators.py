"""Statistics of few scores: interquartile mean, effect size, tests of a difference.

The estimates are those of rliable (Agarwal et al. 2021), so that results compare with papers.
"""

from collections.abc import Callable
from itertools import combinations
from math import ceil, comb
from statistics import NormalDist
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Statistic = Callable[..., Array]
"""Takes samples of shape (draws, scores), one array per stratum; returns a value per draw."""

CONFIDENCE = 0.95
RESAMPLES = 2_000

_TRIMMED = 0.25
"""The share that the interquartile mean trims at either end."""
_SEED = 0
"""Fixed, so that the same scores always have the same interval."""
_MAX_SPLITS = 20_000
"""Up to this number all permutations are enumerated; of more, this number is sampled."""
_POWER = 0.8


def interquartile_mean(samples: Array) -> Array:
    """Return the mean of the middle half along the last axis, SciPy's `trim_mean` at 0.25."""
    cut = int(samples.shape[-1] * _TRIMMED)
    middle = np.sort(samples, axis=-1)[..., cut : samples.shape[-1] - cut]
    means: Array = middle.mean(axis=-1)
    return means


def bootstrap_interval(statistic: Statistic, *strata: Array) -> tuple[float, float]:
    """Return rliable's interval, by a percentile bootstrap that resamples strata separately.

    For results that are compared with rliable's only: of few scores it is too narrow; 95 % are
    76 % for the interquartile mean of three, and 90 % of five. Elsewhere use `intervals`.
    """
    draw = np.random.default_rng(_SEED)
    drawn = [scores[draw.integers(len(scores), size=(RESAMPLES, len(scores)))] for scores in strata]
    low, high = np.percentile(statistic(*drawn), _EDGES)
    return float(low), float(high)


_EDGES = (100 * (1 - CONFIDENCE) / 2, 100 * (1 + CONFIDENCE) / 2)


def probability_of_improvement(ours: Array, theirs: Array) -> Array:
    """Return the probability that ours beats theirs; a tie counts half (Mann-Whitney U)."""
    ahead = np.sign(ours[..., :, np.newaxis] - theirs[..., np.newaxis, :])
    shares: Array = (ahead.mean(axis=(-2, -1)) + 1) / 2
    return shares


def effect_size(ours: Array, theirs: Array) -> float | None:
    """Return Hedges' g: the difference of means in standard deviations, unbiased for few scores.

    None if there is no variance.
    """
    count = len(ours) + len(theirs)
    if min(len(ours), len(theirs)) < 2:
        return None
    inner = (len(ours) - 1) * ours.var(ddof=1) + (len(theirs) - 1) * theirs.var(ddof=1)
    if not inner:
        return None
    distance = (ours.mean() - theirs.mean()) / np.sqrt(inner / (count - 2))
    return float(distance * (1 - 3 / (4 * count - 9)))


def permutation_p_value(ours: Array, theirs: Array) -> float:
    """Return the two-sided p-value of the rank-sum permutation test; ties share their rank.

    With three seeds each it is never significant: all of ours are above all of theirs, or the
    reverse, in one of ten cases by chance.
    """
    ranks = _ranks(np.concatenate([ours, theirs]))
    observed = ranks[: len(ours)].sum()
    if comb(len(ranks), len(ours)) <= _MAX_SPLITS:
        chosen = np.array(list(combinations(range(len(ranks)), len(ours))))
        extra = 0
    else:
        draw = np.random.default_rng(_SEED)
        chosen = draw.permuted(np.tile(np.arange(len(ranks)), (_MAX_SPLITS, 1)), axis=1)
        chosen = chosen[:, : len(ours)]
        extra = 1  # The observed order is a permutation, too.
    sums = ranks[chosen].sum(axis=1)
    near = 1e-9
    fewest = min((sums >= observed - near).sum(), (sums <= observed + near).sum())
    return min(1.0, 2 * float(fewest + extra) / (len(sums) + extra))


def seeds_needed(probability: float) -> int | None:
    """Return how many seeds each side needs to detect a difference with 80 % power.

    Noether's formula (1987) for the rank-sum test, 5 % two-sided; at least the four without which
    that test can't be significant. None: no number suffices.
    """
    distance = abs(probability - 0.5)
    if distance < 0.01:
        return None
    normal = NormalDist()
    z = normal.inv_cdf((1 + CONFIDENCE) / 2) + normal.inv_cdf(_POWER)
    return max(4, ceil(z**2 / (6 * distance**2)))


def _ranks(scores: Array) -> Array:
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Array = ((last - counts + 1 + last) / 2)[places]
    return ranks
