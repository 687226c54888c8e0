"""What the curves say about a reward that somebody wrote."""

from app.analysis.doctor.rules.rewards import collapsed
from app.analysis.insights.insight import Insight, Severity
from app.analysis.insights.situation import Situation

_ENOUGH_DONE = 0.3
_FEWEST = 5
_CLEARLY = 2.0
"""By how many of its first deviations the written reward must have risen."""


def reward_exploited(s: Situation) -> Insight | None:
    """The written reward rises, and the environment's own doesn't, or falls again."""
    if s.config.reward_code is None or s.curve is None or s.share_done < _ENOUGH_DONE:
        return None
    has_fallen = collapsed(s) is not None
    rise = _rise(s)
    if rise is None or not (s.does_badly or has_fallen):
        return None
    begun, now = rise
    own_before = float(s.curve.means.max()) if has_fallen else s.curve.start
    own_now = float(s.curve.last(0.2).mean())
    return Insight(
        code="reward_exploited",
        severity=Severity.WARNING,
        title="The agent earns your reward, but doesn't do the task",
        message=f"The shaped reward of an episode rose from {begun:,.1f} to {now:,.1f}, while the "
        f"environment's own went from {own_before:,.1f} to {own_now:,.1f}.",
        evidence=s.evidence(
            "shaped_reward",
            since=0.8,
            shaped_before=begun,
            shaped_now=now,
            own_before=own_before,
            own_now=own_now,
        ),
        suggestion="Watch what it does, see which term pays for it, and change that term in a "
        "branch of this run.",
        at=s.history.timesteps,
    )


def _rise(s: Situation) -> tuple[float, float] | None:
    """Return from where to where the written reward rose, if it clearly did and still does."""
    early, late = s.part("shaped_reward", 0.0, 0.1), s.part("shaped_reward", 0.8)
    if min(len(early), len(late)) < _FEWEST:
        return None
    begun, now = float(early.mean()), float(late.mean())
    has_risen = now - begun > _CLEARLY * max(float(early.std()), 1e-9)
    stays = now >= float(s.part("shaped_reward", 0.3, 0.7).mean())
    return (begun, now) if has_risen and stays else None
