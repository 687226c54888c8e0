"""The rule about exploited custom rewards."""

from app.analysis.doctor.rules.rewards import collapsed
from app.analysis.insights import Insight, Severity, Situation

_ENOUGH_DONE = 0.3
_MIN_VALUES = 5
_MIN_RISE = 2.0
"""By how many of its initial standard deviations the custom reward must have risen."""


def reward_exploited(s: Situation) -> Insight | None:
    """The custom reward rises while the environment's own doesn't, or falls again."""
    if s.config.reward_code is None or s.curve is None or s.share_done < _ENOUGH_DONE:
        return None
    has_fallen = collapsed(s) is not None
    rise = _rise(s)
    if rise is None or not (s.lacks_progress or has_fallen):
        return None
    start, now = rise
    own_before = float(s.curve.means.max()) if has_fallen else s.curve.start
    own_now = float(s.curve.last(0.2).mean())
    return Insight(
        code="reward_exploited",
        severity=Severity.WARNING,
        title="The agent exploits the custom reward",
        message=f"The shaped reward of an episode rose from {start:,.1f} to {now:,.1f}, while the "
        f"environment's own went from {own_before:,.1f} to {own_now:,.1f}.",
        evidence=s.evidence(
            "shaped_reward",
            since=0.8,
            shaped_before=start,
            shaped_now=now,
            own_before=own_before,
            own_now=own_now,
        ),
        suggestion=(
            "Watch the policy, find the term that it exploits, and change that term in a "
            "branch of this run."
        ),
        at=s.history.timesteps,
    )


def _rise(s: Situation) -> tuple[float, float] | None:
    """Return the first and the current custom reward if it rose clearly and did not fall again."""
    early, late = s.part("shaped_reward", 0.0, 0.1), s.part("shaped_reward", 0.8)
    if min(len(early), len(late)) < _MIN_VALUES:
        return None
    start, now = float(early.mean()), float(late.mean())
    has_risen = now - start > _MIN_RISE * max(float(early.std()), 1e-9)
    stays = now >= float(s.part("shaped_reward", 0.3, 0.7).mean())
    return (start, now) if has_risen and stays else None
