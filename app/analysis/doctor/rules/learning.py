"""What the networks say: broken numbers, the critic, gradients, units without a voice."""

import re

import numpy as np

from app.analysis.doctor.rules.rates import unusual_rate
from app.analysis.doctor.rules.setup import observation_scale
from app.analysis.insights.insight import Insight, Severity
from app.analysis.insights.situation import MEMORY_BASED, ROLLOUT_BASED, Situation

_LOSSES = ("loss", "policy_loss", "value_loss", "actor_loss", "critic_loss", "grad_norm")
_BROKEN = re.compile(r"\bnan\b|not finite|invalid values|infinite|infinity", re.IGNORECASE)
_FEWEST = 8
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
        title="Learning broke down",
        message=f"The {metric.replace('_', ' ')} is no finite number any more at step {at:,}. The "
        "weights are lost from there on.",
        evidence=s.evidence(
            metric,
            since=0.9,
            at=at,
            times=sum(s.history.not_finite[name] for name in broken),
            learning_rate=rate or 0.0,
        ),
        suggestion="Lower the learning rate, and check max_grad_norm and the scale of rewards.",
        change={"hyperparameters": {"learning_rate": float(f"{lower:.2g}")}} if lower else None,
        at=at,
    )


def values_diverge(s: Situation) -> Insight | None:
    """The critic expects more than the environment can pay."""
    bound = s.largest_return
    lows, highs = s.part("value_min", 0.5), s.part("value_max", 0.5)
    if bound is None or not len(highs) or s.algorithm not in MEMORY_BASED | ROLLOUT_BASED:
        return None
    largest = max(float(np.median(np.abs(ends))) for ends in (highs, lows) if len(ends))
    if largest < 2 * bound + 1:
        return None
    rate = s.value("learning_rate")
    lower = min(rate / 10, s.default("learning_rate"))
    return Insight(
        code="values_diverge",
        severity=Severity.WARNING,
        title="The value function has lost its hold",
        message=f"It expects returns of {largest:,.0f}, but rewards and gamma allow "
        f"{bound:,.0f} at most. It learns from its own mistakes.",
        evidence=s.evidence("value_max", since=0.5, largest=largest, bound=bound),
        suggestion=f"Lower the learning rate of {rate:g}"
        + ("; update the target network less often." if s.algorithm in MEMORY_BASED else "."),
        change={"hyperparameters": {"learning_rate": float(f"{lower:.2g}")}},
        at=s.history.timesteps,
    )


def critic_useless(s: Situation) -> Insight | None:
    """The value function explains nothing of the returns."""
    late = s.part("explained_variance", 0.3)
    weight = s.value("vf_coef")
    is_left_out = weight is not None and weight < 0.01
    if len(late) < _FEWEST or s.share_done < 0.3 or not (is_left_out or s.does_badly):
        return None
    typical = float(np.median(late))
    if typical > (_UNTRAINED if is_left_out else _USEFUL):
        return None
    change = {"hyperparameters": {"vf_coef": 0.5}} if is_left_out else None
    return Insight(
        code="critic_useless",
        severity=Severity.WARNING,
        title="The value function is no better than a guess",
        message=f"Explained variance is {typical:.2f} in the median: at zero and below it predicts "
        "returns no better than their mean would. Advantages are noise then.",
        evidence=s.evidence("explained_variance", since=0.3, median=typical),
        suggestion="Raise vf_coef."
        if change
        else "Scale rewards (normalize_reward), raise vf_coef, or collect longer rollouts.",
        change=change or {"wrappers": {"normalize_reward": True}},
        at=s.history.timesteps,
    )


def value_loss_large(s: Situation) -> Insight | None:
    """Rewards are so large that the critic's loss drowns the policy's."""
    late, policy = s.part("value_loss", 0.3), s.part("policy_loss", 0.3)
    if len(late) < _FEWEST or s.config.wrappers.normalize_reward or not len(policy):
        return None
    if unusual_rate(s) is not None or observation_scale(s) is not None:
        return None  # Whoever is thrown about, or sees nothing, earns the strangest rewards.
    typical = float(np.median(late))
    returns = _largest_returns(s)
    is_blind = returns > _LARGE_RETURN and _explains_nothing(s)
    if typical < _LARGE_LOSS and not is_blind:
        return None
    return Insight(
        code="value_loss_large",
        severity=Severity.WARNING if s.does_badly or is_blind else Severity.INFO,
        title="The scale of rewards is large",
        message=f"The value loss is {typical:,.0f} in the median, the policy's "
        f"{float(np.median(np.abs(policy))):.2g}; returns are around {returns:,.0f} in size. "
        "Gradients serve the critic and leave little for the policy.",
        evidence=s.evidence("value_loss", since=0.3, median=typical, typical_return=returns),
        suggestion="Scale rewards; the reported ones stay as they are.",
        change={"wrappers": {"normalize_reward": True}},
        at=s.history.timesteps,
    )


def gradients_explode(s: Situation) -> Insight | None:
    """Gradients grow and grow."""
    early, late = s.part("grad_norm", 0.0, 0.4), s.part("grad_norm", 0.6)
    limit = s.value("max_grad_norm")
    if min(len(early), len(late)) < 2:
        return None
    before, now = float(np.median(early)), float(np.median(late))
    if now < _EXPLODED * max(before, limit or 0.5) or s.is_near_goal:
        return None
    return Insight(
        code="gradients_explode",
        severity=Severity.WARNING,
        title="Gradients explode",
        message=f"Their length grew from {before:,.3g} to {now:,.3g} (median of the first and the "
        f"last part of the run); max_grad_norm is {limit:g}."
        if limit is not None
        else f"Their length grew from {before:,.3g} to {now:,.3g}.",
        evidence=s.evidence("grad_norm", since=0.6, before=before, now=now, limit=limit or 0.0),
        suggestion="Lower the learning rate and clip gradients at 0.5 to 10.",
        change=_lower_rate(s),
        at=s.history.timesteps,
    )


def dead_units(s: Situation) -> Insight | None:
    """Many units of the network never say anything."""
    late = s.part("dead_units", 0.5)
    if not len(late) or not s.does_badly:
        return None
    share = float(np.median(late))
    if share < _DEAD:
        return None
    return Insight(
        code="dead_units",
        severity=Severity.WARNING,
        title="Much of the network is dead",
        message=f"{share:.0%} of the units give the same answer to everything they see. What they "
        "could have learned is lost.",
        evidence=s.evidence("dead_units", since=0.5, share=share, limit=_DEAD),
        suggestion="Lower the learning rate, scale observations, or use another activation.",
        change=_lower_rate(s),
        at=s.history.timesteps,
    )


def _largest_returns(s: Situation) -> float:
    """Return the size of the first or the last returns, whichever is larger."""
    last = [abs(episode.reward) for episode in s.history.recent]
    return max(abs(s.curve.start) if s.curve else 0.0, float(np.median(last)) if last else 0.0)


def _explains_nothing(s: Situation) -> bool:
    explained = s.part("explained_variance", 0.3)
    return len(explained) >= _FEWEST and float(np.median(explained)) < _UNTRAINED


def _lower_rate(s: Situation) -> dict[str, dict[str, float]] | None:
    """Return a fifth of the learning rate, or the usual one if that is less."""
    rate, usual = s.value("learning_rate"), s.default("learning_rate")
    if not rate or not usual:
        return None
    return {"hyperparameters": {"learning_rate": float(f"{min(rate / 5, usual):.2g}")}}
