"""Whether a run got slower, and what takes the time."""

import numpy as np

from app.analysis.insights.insight import Insight, Severity
from app.analysis.insights.situation import Situation

_SLOWER = 2.5
_WORTH_IT_US = 50.0
"""Per step; below that nobody notices."""
_FEWEST = 12
_FEWEST_SECONDS = 20.0
_CAUSES = {
    "collect": (
        "the environment",
        "An environment that gets slower often keeps too much. Look at "
        "its memory, or shorten its episodes.",
    ),
    "learn": ("learning", "Make fewer gradient steps, or larger batches of them."),
}


def slow_down(s: Situation) -> Insight | None:
    """Each step takes much longer than it did."""
    if s.history.elapsed_s < _FEWEST_SECONDS:
        return None
    found = {cause: _costs(s, cause) for cause in _CAUSES}
    cause = max(found, key=lambda name: found[name][1] - found[name][0])
    before, now = found[cause]
    all_before = sum(one for one, _ in found.values())
    all_now = sum(other for _, other in found.values())
    if all_before <= 0 or all_now < _SLOWER * all_before or all_now - all_before < _WORTH_IT_US:
        return None
    who, advice = _CAUSES[cause]
    return Insight(
        code="slow_down",
        severity=Severity.WARNING,
        title="Training has become slow",
        message=f"A step takes {all_now:,.0f} µs and took {all_before:,.0f} µs before. It is {who} "
        f"that got slower: from {before:,.0f} to {now:,.0f} µs per step.",
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
    """Return the cost per step early and late, from where learning was under way."""
    values = s.part(f"{name}_us_per_step", 0.0)
    if len(values) < _FEWEST:
        return 0.0, 0.0
    quarter = len(values) // 4
    return float(np.median(values[quarter // 2 : 2 * quarter])), float(np.median(values[-quarter:]))
