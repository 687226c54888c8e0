"""The rule about slow training."""

import numpy as np

from app.analysis.insights import Insight, Severity, Situation

_SLOWER = 2.5
_NOTICEABLE_US = 50.0
"""Per step; less is not noticeable."""
_MIN_VALUES = 12
_MIN_SECONDS = 20.0
_CAUSES = {
    "collect": (
        "the environment",
        "An environment that slows down often accumulates data. Check its memory use, or shorten "
        "its episodes.",
    ),
    "learn": ("learning", "Use fewer gradient steps, or larger batches."),
}


def slow_down(s: Situation) -> Insight | None:
    """Steps take much longer than before."""
    if s.history.elapsed_s < _MIN_SECONDS:
        return None
    costs = {cause: _costs(s, cause) for cause in _CAUSES}
    cause = max(costs, key=lambda name: costs[name][1] - costs[name][0])
    before, now = costs[cause]
    all_before = sum(one for one, _ in costs.values())
    all_now = sum(other for _, other in costs.values())
    if all_before <= 0 or all_now < _SLOWER * all_before or all_now - all_before < _NOTICEABLE_US:
        return None
    part, advice = _CAUSES[cause]
    return Insight(
        code="slow_down",
        severity=Severity.WARNING,
        title="Training has become slow",
        message=f"A step takes {all_now:,.0f} µs; it took {all_before:,.0f} µs before. The cause "
        f"is {part}: from {before:,.0f} to {now:,.0f} µs per step.",
        evidence=s.evidence(
            "fps",
            since=0.7,
            before_us=all_before,
            now_us=all_now,
            cause_before_us=before,
            cause_now_us=now,
        ),
        suggestion=advice,
        at=s.history.timesteps,
    )


def _costs(s: Situation, name: str) -> tuple[float, float]:
    """Return the time per step, early (after a warm-up) and late."""
    values = s.part(f"{name}_us_per_step", 0.0)
    if len(values) < _MIN_VALUES:
        return 0.0, 0.0
    quarter = len(values) // 4
    return float(np.median(values[quarter // 2 : 2 * quarter])), float(np.median(values[-quarter:]))
