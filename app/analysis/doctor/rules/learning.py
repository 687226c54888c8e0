"""Rules about the networks: values that are not finite, the critic, gradients, dead units."""

import re

import numpy as np

from app.analysis.doctor.rules.rates import unusual_rate
from app.analysis.doctor.rules.rewards import collapsed
from app.analysis.doctor.rules.setup import observation_scale
from app.analysis.insights import Insight, Severity, Situation
from app.catalog.algorithms import Family

_LOSSES = ("loss", "policy_loss", "value_loss", "actor_loss", "critic_loss", "grad_norm")
_BROKEN = re.compile(r"\bnan\b|not finite|invalid values|infinite|infinity", re.IGNORECASE)
_MIN_VALUES = 8
_DEAD = 0.6
_USEFUL, _UNTRAINED = -0.05, 0.1
_LARGE_LOSS, _LARGE_RETURN = 1_000.0, 1_000.0
_EXPLODED = 10.0


def not_a_number(s: Situation) -> Insight | None:
    """Losses or gradients are NaN or infinite, or the run ended because of it."""
    broken = [name for name in _LOSSES if s.history.not_finite[name]]
    is_ours = s.error is not None and _BROKEN.search(s.error) and "environment" not in s.error
    if not broken and not is_ours:
        return None
    metric = broken[0] if broken else "loss"
    rate = s.value("learning_rate")
    usual = s.default("learning_rate")
    lower = min(rate / 10, usual) if rate and usual else None
    at = s.history.not_finite_at or s.history.timesteps
    return Insight(
        code="not_a_number",
        severity=Severity.ERROR,
        title="Training diverged",
        message=(
            f"The {metric.replace('_', ' ')} is not finite from step {at:,} on. The weights "
            "are invalid from there."
        ),
        evidence=s.evidence(
            metric,
            since=0.9,
            at=at,
            times=sum(s.history.not_finite[name] for name in broken),
            learning_rate=rate or 0.0,
        ),
        suggestion="Lower the learning rate, and check max_grad_norm and the scale of the rewards.",
        change={"hyperparameters": {"learning_rate": float(f"{lower:.2g}")}} if lower else None,
        at=at,
    )


def values_diverge(s: Situation) -> Insight | None:
    """The critic predicts returns larger than rewards and gamma allow."""
    bound = s.largest_return
    lows, highs = s.part("value_min", 0.5), s.part("value_max", 0.5)
    if bound is None or not len(highs) or s.algorithm.family is Family.SEARCH:
        return None
    largest = max(float(np.median(np.abs(ends))) for ends in (highs, lows) if len(ends))
    if largest < 2 * bound + 1:
        return None
    rate = s.value("learning_rate")
    lower = min(rate / 10, s.default("learning_rate"))
    return Insight(
        code="values_diverge",
        severity=Severity.WARNING,
        title="The value function diverges",
        message=(
            f"It predicts returns of {largest:,.0f}, but rewards and gamma allow {bound:,.0f} "
            "at most: bootstrapping amplifies its errors."
        ),
        evidence=s.evidence("value_max", since=0.5, largest=largest, bound=bound),
        suggestion=f"Lower the learning rate of {rate:g}"
        + (
            "; update the target network less often."
            if s.algorithm.family is Family.REPLAY
            else "."
        ),
        change={"hyperparameters": {"learning_rate": float(f"{lower:.2g}")}},
        at=s.history.timesteps,
    )


def critic_useless(s: Situation) -> Insight | None:
    """The value function explains no variance of the returns."""
    late = s.part("explained_variance", 0.3)
    weight = s.value("vf_coef")
    is_left_out = weight is not None and weight < 0.01
    if len(late) < _MIN_VALUES or s.share_done < 0.3 or not (is_left_out or s.lacks_progress):
        return None
    typical = float(np.median(late))
    if typical > (_UNTRAINED if is_left_out else _USEFUL):
        return None
    change = {"hyperparameters": {"vf_coef": 0.5}} if is_left_out else None
    return Insight(
        code="critic_useless",
        severity=Severity.WARNING,
        title="The value function explains nothing",
        message=(
            f"The median explained variance is {typical:.2f}: at or below zero, the critic "
            "predicts returns no better than their mean. Advantages are then noise."
        ),
        evidence=s.evidence("explained_variance", since=0.3, median=typical),
        suggestion="Raise vf_coef."
        if change
        else "Normalize rewards (normalize_reward), raise vf_coef, or collect longer rollouts.",
        change=change or {"wrappers": {"normalize_reward": True}},
        at=s.history.timesteps,
    )


def value_loss_large(s: Situation) -> Insight | None:
    """Rewards are so large that the value loss dominates the policy loss."""
    late, policy = s.part("value_loss", 0.3), s.part("policy_loss", 0.3)
    if len(late) < _MIN_VALUES or s.config.wrappers.normalize_reward or not len(policy):
        return None
    if unusual_rate(s) is not None or observation_scale(s) is not None:
        return None  # Those cause extreme rewards themselves.
    typical = float(np.median(late))
    returns = _largest_returns(s)
    hides_returns = returns > _LARGE_RETURN and _has_useless_critic(s)
    if typical < _LARGE_LOSS and not hides_returns:
        return None
    return Insight(
        code="value_loss_large",
        severity=Severity.WARNING if s.lacks_progress or hides_returns else Severity.INFO,
        title="Rewards are large",
        message=f"The median value loss is {typical:,.0f}, the policy loss "
        f"{float(np.median(np.abs(policy))):.2g}; returns are around {returns:,.0f}. The critic "
        f"dominates the gradients.",
        evidence=s.evidence("value_loss", since=0.3, median=typical, typical_return=returns),
        suggestion="Normalize rewards; reported rewards stay unchanged.",
        change={"wrappers": {"normalize_reward": True}},
        at=s.history.timesteps,
    )


def gradients_explode(s: Situation) -> Insight | None:
    """The gradient norm keeps growing, and nothing is learned or it was lost again."""
    early, late = s.part("grad_norm", 0.0, 0.4), s.part("grad_norm", 0.6)
    limit = s.value("max_grad_norm")
    if min(len(early), len(late)) < 2:
        return None
    before, now = float(np.median(early)), float(np.median(late))
    # Gradients also grow with the values of a policy that improves.
    if now < _EXPLODED * max(before, limit or 0.5) or not _does_badly(s):
        return None
    return Insight(
        code="gradients_explode",
        severity=Severity.WARNING,
        title="Gradients explode",
        message=f"Their norm grew from {before:,.3g} to {now:,.3g} (median of the first and the "
        f"last part of the run); max_grad_norm is {limit:g}."
        if limit is not None
        else f"Their norm grew from {before:,.3g} to {now:,.3g}.",
        evidence=s.evidence("grad_norm", since=0.6, before=before, now=now, limit=limit or 0.0),
        suggestion="Lower the learning rate."
        if limit is None
        else "Lower the learning rate, and clip gradients at 0.5 to 10 with max_grad_norm.",
        change=_lower_rate(s),
        at=s.history.timesteps,
    )


def dead_units(s: Situation) -> Insight | None:
    """Many units of the network have no gradient."""
    late = s.part("dead_units", 0.5)
    if not len(late) or not s.lacks_progress:
        return None
    share = float(np.median(late))
    if share < _DEAD:
        return None
    return Insight(
        code="dead_units",
        severity=Severity.WARNING,
        title="Many units are dead",
        message=(
            f"{share:.0%} of the units have no gradient for any observation. Their capacity is "
            "lost."
        ),
        evidence=s.evidence("dead_units", since=0.5, share=share, limit=_DEAD),
        suggestion="Lower the learning rate, normalize observations, or use another activation.",
        change=_lower_rate(s),
        at=s.history.timesteps,
    )


def _largest_returns(s: Situation) -> float:
    """Return the larger magnitude of the first and the last returns."""
    last = [abs(episode.reward) for episode in s.history.recent]
    return max(abs(s.curve.start) if s.curve else 0.0, float(np.median(last)) if last else 0.0)


def _does_badly(s: Situation) -> bool:
    return s.lacks_progress or collapsed(s) is not None


def _has_useless_critic(s: Situation) -> bool:
    explained = s.part("explained_variance", 0.3)
    return len(explained) >= _MIN_VALUES and float(np.median(explained)) < _UNTRAINED


def _lower_rate(s: Situation) -> dict[str, dict[str, float]] | None:
    """Return a fifth of the learning rate, or the default if that is lower."""
    rate, usual = s.value("learning_rate"), s.default("learning_rate")
    if not rate or not usual:
        return None
    return {"hyperparameters": {"learning_rate": float(f"{min(rate / 5, usual):.2g}")}}
