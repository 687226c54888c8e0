"""Rules about off-policy algorithms: start and amount of learning, duration of exploration."""

import numpy as np

from app.analysis.insights import Insight, Severity, Situation
from app.catalog.algorithms import Family

_MUCH_RANDOM = 0.5
_LOW_RATIO, _HIGH_RATIO = 0.02, 4.0
_ENOUGH_DONE = 0.3
"""The share of the budget before which missing progress is no sign of overfitting."""


def learning_not_started(s: Situation) -> Insight | None:
    """A large part of the budget only fills the replay buffer."""
    begins = s.value("learning_starts")
    if s.algorithm.family is not Family.REPLAY or not begins or s.history.timesteps <= 0:
        return None
    share = begins / s.config.total_timesteps
    if share < 0.4:
        return None
    never = begins >= s.config.total_timesteps
    sooner = max(100, min(1_000, s.config.total_timesteps // 20))
    return Insight(
        code="learning_not_started",
        severity=Severity.WARNING,
        title="Learning never starts" if never else "Learning starts late",
        message=f"learning_starts is {begins:,} and the budget {s.config.total_timesteps:,} "
        f"steps: {min(1.0, share):.0%} of them are random actions without learning.",
        evidence=s.evidence(
            "loss",
            learning_starts=begins,
            total_timesteps=s.config.total_timesteps,
            updates=s.history.updates,
        ),
        suggestion=f"Start learning after {sooner:,} steps.",
        change={"hyperparameters": {"learning_starts": sooner}},
        at=s.history.timesteps,
    )


def exploration(s: Situation) -> Insight | None:
    """Exploration is over, lasts too long, or ends before learning starts."""
    final, fraction = s.value("exploration_final_eps"), s.value("exploration_fraction")
    rates = s.part("exploration_rate", 0.0)
    if final is None or fraction is None or not len(rates):
        return None
    now = float(rates[-1])
    lasts = fraction * s.config.schedule_end / s.config.total_timesteps
    if final >= _MUCH_RANDOM or (lasts >= 0.8 and s.share_done > 0.5):
        return _explores_too_long(s, now, float(np.mean(rates)))
    if fraction * s.config.schedule_end < (s.value("learning_starts") or 0) * 1.2:
        return _explores_too_short(s)
    return _exploration_over(s, now) if now <= final + 0.01 else None


def _explores_too_long(s: Situation, now: float, mean: float) -> Insight:
    final, fraction = s.value("exploration_final_eps"), s.value("exploration_fraction")
    return Insight(
        code="explores_too_long",
        severity=Severity.WARNING,
        title="Exploration lasts too long",
        message=f"{mean:.0%} of the actions so far were random, {now:.0%} still are: "
        f"exploration_fraction is {fraction:g} and exploration_final_eps {final:g}. The learned "
        f"policy hardly acts.",
        evidence=s.evidence("exploration_rate", now=now, mean=mean, final=final, fraction=fraction),
        suggestion="End exploration after a fifth of the run, at 5 % random actions.",
        change={"hyperparameters": {"exploration_fraction": 0.2, "exploration_final_eps": 0.05}},
        at=s.history.timesteps,
    )


def _explores_too_short(s: Situation) -> Insight:
    fraction, begins = s.value("exploration_fraction"), s.value("learning_starts") or 0
    ends = int(fraction * s.config.schedule_end)
    return Insight(
        code="explores_too_short",
        severity=Severity.WARNING,
        title="Exploration ends before learning starts",
        message=(
            f"Random actions decay until step {ends:,}, but learning starts at step "
            f"{begins:,}: an untrained network acts until then."
        ),
        evidence=s.evidence("exploration_rate", ends_at=ends, learning_starts=begins),
        suggestion="Let exploration last for a fifth of the run.",
        change={"hyperparameters": {"exploration_fraction": 0.2}},
        at=s.history.timesteps,
    )


def _exploration_over(s: Situation, now: float) -> Insight:
    return Insight(
        code="exploration_over",
        severity=Severity.INFO,
        title="Exploration is over",
        message=f"{now:.0%} of the actions are random now. Rewards now reflect the policy.",
        evidence=s.evidence("exploration_rate", now=now),
        suggestion="No action needed.",
        at=s.history.timesteps,
    )


def replay_ratio(s: Situation) -> Insight | None:
    """There are too few or too many gradient steps per collected step, and nothing is learned.

    Many are no mistake in themselves: REDQ and DroQ do 20 per step.
    """
    ratio = _ratio(s)
    if ratio is None or _LOW_RATIO <= ratio <= _HIGH_RATIO:
        return None
    if ratio and (s.has_learned or s.is_near_goal):
        return None
    low = ratio < _LOW_RATIO
    if not low and (not s.lacks_progress or s.share_done < _ENOUGH_DONE):
        return None
    word = "rarely" if low else "often"
    train_freq, gradient_steps = s.default("train_freq"), _usual_gradient_steps(s)
    numbers = {"gradient_steps_per_step": ratio, "low": _LOW_RATIO, "high": _HIGH_RATIO}
    return Insight(
        code="replay_ratio_low" if low else "replay_ratio_high",
        severity=Severity.WARNING,
        title=f"Collected transitions are used too {word}" if ratio else "Learning never starts",
        message=(
            f"{ratio:.3g} gradient steps per environment step; 0.1 to 1 is usual. "
            + ("Little is learned." if low else "It may overfit the collected transitions.")
            if ratio
            else "gradient_steps is 0: transitions are collected, but the networks never change."
        ),
        evidence=s.evidence("loss", **numbers),
        suggestion=f"Set train_freq to {train_freq} and gradient_steps to {gradient_steps}.",
        change={"hyperparameters": {"train_freq": train_freq, "gradient_steps": gradient_steps}},
        at=s.history.timesteps,
    )


def _ratio(s: Situation) -> float | None:
    every, steps = s.value("train_freq"), s.value("gradient_steps")
    if s.algorithm.family is not Family.REPLAY or not every or steps is None:
        return None
    if s.history.timesteps <= (s.value("learning_starts") or 0):
        return None
    collected = every * s.config.n_envs
    # -1: as many as were collected.
    return 1.0 if steps < 0 else float(steps / collected)


def _usual_gradient_steps(s: Situation) -> int:
    """Return the default per round; a round collects from every environment."""
    steps: int = s.default("gradient_steps")
    return steps if steps < 0 else steps * s.config.n_envs
