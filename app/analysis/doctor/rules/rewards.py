"""Rules about the reward curve: converged, stuck, plateau, collapse, variance, outliers."""

import numpy as np

from app.analysis.doctor.rules.rates import unusual_rate
from app.analysis.insights import Insight, Severity, Situation

_ENOUGH_DONE = 0.3
"""The share of the budget before which a flat curve is not significant."""
_ENOUGH_STEPS = 4_000
_LONG_ENOUGH = 20_000
"""Steps before which a flat curve is no plateau."""
_FLAT_SHARE = 0.4
_FELL_BY = 0.5
_FAR = 0.25
"""The share of the way to the threshold from which on a plateau is no warning."""
_STILL_RISES = 0.15
"""The share of the total gain that a late gain must reach to count as progress."""
_STEADIER_BY = 0.25
_OUTLIER = 12.0
"""The distance from the median, in interquartile ranges, that makes an episode an outlier."""


def converged(s: Situation) -> Insight | None:
    """The reward has risen and is now constant."""
    curve = s.curve
    if curve is None or not (s.has_learned or s.is_near_goal) or s.share_done < _ENOUGH_DONE:
        return None
    late = curve.last(0.3)
    if not _has_reached(s, float(late.mean())) or _still_rises(late, curve.start):
        return None
    if collapsed(s) is not None:
        return None
    level = float(late.mean())
    threshold = s.environment.solved_threshold
    numbers = {"start": curve.start, "level": level}
    message = (
        f"The mean episode reward rose from {curve.start:,.1f} to {level:,.1f} on average "
        "and stayed there over the last third of the run."
    )
    if threshold is None:
        return Insight(
            code="converged",
            severity=Severity.INFO,
            title="The reward no longer rises",
            message=f"{message} Without a solved threshold it is unknown how good that is.",
            evidence=s.evidence("reward", since=0.7, **numbers),
            suggestion="Compare it with other seeds, algorithms, or results published for the "
            "environment, before you rely on it.",
            at=s.history.timesteps,
        )
    return Insight(
        code="converged",
        severity=Severity.GOOD,
        title="The policy has converged",
        message=f"{message} {threshold:,.1f} counts as solved.",
        evidence=s.evidence("reward", since=0.7, solved_threshold=threshold, **numbers),
        suggestion="Evaluate it, or try another seed.",
        at=s.history.timesteps,
    )


def variance_reduced(s: Situation) -> Insight | None:
    """The reward varies less between episodes than before."""
    rewards = [episode.reward for episode in s.history.recent]
    count = len(rewards) // 2
    if count < 50 or not s.has_learned:
        return None
    before, now = float(np.std(rewards[:count])), float(np.std(rewards[-count:]))
    if before <= 0 or now > (1 - _STEADIER_BY) * before:
        return None
    percent = 100 * (1 - now / before)
    first = s.history.recent[len(rewards) - count].timesteps
    return Insight(
        code="variance_reduced",
        severity=Severity.GOOD,
        title="The policy has become steadier",
        message=f"Variance reduced: the deviation of the reward fell by {percent:.0f} % over the "
        f"last {count} episodes, from {before:,.1f} to {now:,.1f}.",
        evidence=s.evidence(
            "reward",
            since=first / s.history.timesteps,
            before=before,
            now=now,
            percent=percent,
            episodes=count,
        ),
        suggestion="No action needed: results vary less from episode to episode.",
        at=s.history.timesteps,
    )


def stuck(s: Situation) -> Insight | None:
    """The reward has not risen since the beginning."""
    curve = s.curve
    if curve is None or s.needed_gain is None or not s.lacks_progress:
        return None
    if s.share_done < _ENOUGH_DONE or s.history.timesteps < _ENOUGH_STEPS:
        return None
    if float(curve.means.max()) - curve.start > 3 * s.needed_gain:
        return None  # It rose in between: that is a collapse.
    now = float(curve.last(0.2).mean())
    return Insight(
        code="stuck",
        severity=Severity.WARNING,
        title="No learning progress",
        message=(
            f"After {s.history.timesteps:,} steps the mean episode reward is {now:,.1f}; it "
            f"started at {curve.start:,.1f}. A gain of {s.needed_gain:,.1f} would stand out "
            "from noise."
        ),
        evidence=s.evidence("reward", start=curve.start, now=now, needed_gain=s.needed_gain),
        suggestion=_suggest(s),
        at=s.history.timesteps,
    )


def plateau(s: Situation) -> Insight | None:
    """The reward has risen, but stopped rising below the threshold."""
    curve, threshold = s.curve, s.environment.solved_threshold
    if curve is None or threshold is None or not s.has_learned or s.is_near_goal:
        return None
    if s.share_done < 0.5 or s.history.timesteps < _LONG_ENOUGH:
        return None
    late = curve.last(_FLAT_SHARE)
    if len(late) < 6 or _gain(late) > 0.05 * abs(threshold - curve.start):
        return None
    level = float(late.mean())
    # With a distant threshold every gain looks small: compare with the total gain, too.
    if _still_rises(late, curve.start) or collapsed(s) is not None or _has_reached(s, level):
        return None
    rate = s.value("learning_rate")
    is_close = level - curve.start > _FAR * (threshold - curve.start)
    return Insight(
        code="plateau",
        # A plateau after much progress is no problem.
        severity=Severity.INFO if is_close else Severity.WARNING,
        title="The reward has plateaued below the threshold",
        message=(
            f"Over the last {_FLAT_SHARE:.0%} of the steps the mean episode reward was about "
            f"{level:,.1f}; {threshold:,.1f} counts as solved."
        ),
        evidence=s.evidence(
            "reward",
            since=1 - _FLAT_SHARE,
            start=curve.start,
            level=level,
            solved_threshold=threshold,
        ),
        suggestion=(
            "Decay the learning rate, so that the last updates are small, or raise the "
            "entropy bonus a little, so that it explores more."
        ),
        change={"hyperparameters": {"learning_rate": f"{rate:g} -> 0"}} if rate else None,
        at=s.history.timesteps,
    )


def collapsed(s: Situation) -> Insight | None:
    """The reward was high and fell."""
    curve = s.curve
    if curve is None or s.needed_gain is None or len(curve.means) < 8:
        return None
    best_at = int(np.argmax(curve.means))
    best, now = float(curve.means[best_at]), float(curve.last(0.1).mean())
    gained, lost = best - curve.start, best - now
    if gained < 3 * s.needed_gain or lost < _FELL_BY * gained or best_at > len(curve.means) - 3:
        return None
    rate = s.value("learning_rate")
    return Insight(
        code="collapsed",
        severity=Severity.WARNING,
        title="The policy collapsed after good performance",
        message=f"The mean episode reward was {best:,.1f} around step "
        f"{curve.steps[best_at]:,.0f} and is {now:,.1f} now: {lost / gained:.0%} of the gain is "
        f"lost.",
        evidence=s.evidence(
            "reward",
            since=float(curve.steps[best_at]) / s.history.timesteps,
            best=best,
            now=now,
            lost_percent=100 * lost / gained,
        ),
        suggestion=(
            "Lower the learning rate and decay it. A new run can start from a checkpoint "
            "before the collapse."
        ),
        change={"hyperparameters": {"learning_rate": f"{rate / 3:.2g} -> 0"}} if rate else None,
        at=s.history.timesteps,
    )


def reward_outliers(s: Situation) -> Insight | None:
    """A few episodes have far higher or lower rewards than the rest."""
    rewards = np.asarray([episode.reward for episode in s.history.recent])
    if len(rewards) < 100:
        return None
    low, middle, high = np.percentile(rewards, [25, 50, 75])
    far = np.abs(rewards - middle) > _OUTLIER * max(high - low, 1e-6 + 0.01 * abs(middle))
    count = int(far.sum())
    if not 0 < count <= 0.03 * len(rewards):
        return None
    worst = float(rewards[np.argmax(np.abs(rewards - middle))])
    return Insight(
        code="reward_outliers",
        severity=Severity.INFO,
        title="Some episodes are outliers",
        message=f"{count} of the last {len(rewards)} episodes lie far from the rest: "
        f"{worst:,.1f} where the median is {middle:,.1f}. Such rewards destabilize the value "
        f"function.",
        evidence=s.evidence(
            "reward",
            since=s.history.recent[0].timesteps / s.history.timesteps,
            outliers=count,
            farthest=worst,
            median=float(middle),
        ),
        suggestion="Normalize rewards, so that one episode can't outweigh all others.",
        change=None
        if s.config.wrappers.normalize_reward
        else {"wrappers": {"normalize_reward": True}},
        at=s.history.timesteps,
    )


def _has_reached(s: Situation, level: float) -> bool:
    threshold = s.environment.solved_threshold
    if threshold is None or s.curve is None:
        return threshold is None
    return level >= threshold - 0.15 * abs(threshold - s.curve.start)


def _still_rises(late: np.ndarray, start: float) -> bool:
    learned = float(late.mean()) - start
    return _gain(late) > _STILL_RISES * max(learned, 1e-9)


def _gain(means: np.ndarray) -> float:
    """Return the mean of the second half minus the mean of the first."""
    half = len(means) // 2
    return float(means[half:].mean() - means[:half].mean()) if half else 0.0


def _suggest(s: Situation) -> str:
    if unusual_rate(s) is not None:
        return "The learning rate is the first thing to change."
    return (
        "See the other insights first. If there are none, train longer, try the preset of this "
        "environment, or another algorithm."
    )
