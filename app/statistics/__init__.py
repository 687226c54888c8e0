"""Estimators and confidence intervals for evaluations, groups and comparisons."""

from app.statistics.aggregates import (
    aggregate_interval,
    aggregate_iqm,
    aggregate_mean,
    aggregate_median,
    optimality_gap,
    performance_profile,
)
from app.statistics.bands import band
from app.statistics.estimators import (
    Array,
    effect_size,
    interquartile_mean,
    permutation_p_value,
    probability_of_improvement,
    seeds_needed,
)
from app.statistics.intervals import (
    MIN_SAMPLES,
    improvement_interval,
    iqm_interval,
    mean_interval,
)

__all__ = [
    "MIN_SAMPLES",
    "Array",
    "aggregate_interval",
    "aggregate_iqm",
    "aggregate_mean",
    "aggregate_median",
    "band",
    "effect_size",
    "improvement_interval",
    "interquartile_mean",
    "iqm_interval",
    "mean_interval",
    "optimality_gap",
    "performance_profile",
    "permutation_p_value",
    "probability_of_improvement",
    "seeds_needed",
]
