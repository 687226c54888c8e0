"""The rule about learning rates that are far from the default."""

from app.analysis.insights import Insight, Severity, Situation
from app.catalog.algorithms import Family

_FAR = 20.0
"""The factor from the default from which on a rate is unusual."""
_LOWEST_TUNED = 2e-5
"""RL Zoo's tuned rates reach down to this for gradient descent (PPO on HalfCheetah)."""


def unusual_rate(s: Situation) -> Insight | None:
    """The learning rate is far from the default, and nothing is learned."""
    rate, usual = s.value("learning_rate"), s.default("learning_rate")
    if not rate or not usual or not s.lacks_progress or s.share_done < 0.3:
        return None
    if usual / _FAR < rate < usual * _FAR:
        return None
    is_high = rate > usual
    if not is_high and rate >= _LOWEST_TUNED and s.algorithm.family is not Family.SEARCH:
        return None
    word, effect = ("high", "diverge") if is_high else ("low", "hardly move")
    return Insight(
        code=f"learning_rate_{word}",
        severity=Severity.WARNING,
        title=f"The learning rate is unusually {word}",
        message=f"It is {rate:g}, and {usual:g} is the usual value. The reward hasn't risen: with "
        f"such steps the weights {effect}.",
        evidence=s.evidence("learning_rate", learning_rate=rate, usual=usual),
        suggestion=f"Set it to {usual:g}.",
        change={"hyperparameters": {"learning_rate": usual}},
        at=s.history.timesteps,
    )
