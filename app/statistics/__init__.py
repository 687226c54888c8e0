"""Estimators and confidence intervals for evaluations, groups and comparisons."""

from app.statistics.bands import band
from app.statistics.estimators import (
    Array,
    bootstrap_interval,
    effect_size,
    interquartile_mean,
    mean,
    permutation_p_value,
    probability_of_improvement,
    seeds_needed,
)

__all__ = [
    "Array",
    "band",
    "bootstrap_interval",
    "effect_size",
    "interquartile_mean",
    "mean",
    "permutation_p_value",
    "probability_of_improvement",
    "seeds_needed",
]
