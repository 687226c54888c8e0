"""Rules about the configuration: time limit, observation scale, rollout size, gamma, seeds."""

import numpy as np

from app.analysis.insights import Insight, Severity, Situation
from app.catalog.algorithms import Family
from app.catalog.environments import ObservationKind

_PINNED = 0.8
_LARGE_OBSERVATION = 30.0
_SMALL_ROLLOUT = 128
_LONG_EPISODES = 15.0
_MIN_SEEDS = 3


def pinned_at_limit(s: Situation) -> Insight | None:
    """Episodes end at the time limit although that is no success."""
    limit, recent = s.time_limit, s.history.recent
    if limit is None or len(recent) < 20:
        return None
    share = float(np.mean([episode.length >= limit for episode in recent]))
    usual = s.config.usual_step_limit
    is_shortened = limit != usual and (usual is None or limit < usual)
    if share < _PINNED or not (is_shortened or _never_ends(s)):
        return None
    # Where every step costs reward, a short limit looks like success.
    if s.is_near_goal_without_wrappers and not (is_shortened and usual and limit < usual / 2):
        return None
    return Insight(
        code="pinned_at_limit",
        severity=Severity.WARNING,
        title="Episodes end at the time limit",
        message=f"{share:.0%} of the last {len(recent)} episodes ran into the limit of {limit:,} "
        "steps. "
        + (
            f"The environment itself allows {usual:,}."
            if is_shortened and usual
            else "The agent never reaches a terminal state, so it can't learn what leads there."
        ),
        evidence=s.evidence(
            "episode_length",
            since=recent[0].timesteps / s.history.timesteps,
            share=share,
            limit=limit,
        ),
        suggestion="Use the environment's own time limit."
        if is_shortened
        else "Explore more (entropy bonus, another algorithm), or reward intermediate progress.",
        change={"wrappers": {"time_limit": None}} if is_shortened else None,
        at=s.history.timesteps,
    )


def observation_scale(s: Situation) -> Insight | None:
    """Observations are much larger than networks can handle well."""
    sizes = s.part("observation_max", 0.0)
    is_box = s.environment.observation_kind is ObservationKind.BOX
    if not len(sizes) or not is_box or s.config.wrappers.normalize_observation:
        return None
    largest = float(np.median(sizes))
    if largest < _LARGE_OBSERVATION:
        return None
    noise = s.config.wrappers.observation_noise
    change = {
        "wrappers": {
            "observation_noise": 0.0 if noise > 1 else noise,
            "normalize_observation": noise <= 1,
        }
    }
    return Insight(
        code="observation_scale",
        severity=Severity.WARNING if s.lacks_progress else Severity.INFO,
        title="Observations are large and not normalized",
        message=f"Observations reach {largest:,.0f}; networks expect values around 1. "
        + (f"Noise with a standard deviation of {noise:g} is added to each. " if noise > 1 else "")
        + "Units saturate, and small differences get lost.",
        evidence=s.evidence("observation_max", largest=largest, limit=_LARGE_OBSERVATION),
        suggestion="Remove the noise." if noise > 1 else "Normalize observations.",
        change=change,
        at=s.history.timesteps,
    )


def too_few_environments(s: Situation) -> Insight | None:
    """Updates use so few samples that they are mostly noise."""
    steps = s.value("n_steps")
    if s.algorithm.family is not Family.ROLLOUT or not steps:
        return None
    rollout = steps * s.config.n_envs
    if rollout >= _SMALL_ROLLOUT or s.config.n_envs > 4 or s.history.updates < 8:
        return None
    if s.does_well:
        return None
    return Insight(
        code="too_few_environments",
        severity=Severity.WARNING if s.config.n_envs < 4 else Severity.INFO,
        title="Updates use very few samples",
        message=f"{s.config.n_envs} environments and {steps} steps make {rollout} samples per "
        f"update; below {_SMALL_ROLLOUT} an update is mostly noise.",
        evidence=s.evidence("reward", n_envs=s.config.n_envs, n_steps=steps, samples=rollout),
        suggestion="Use 8 parallel environments.",
        change={"n_envs": 8},
        at=s.history.timesteps,
    )


def short_sighted(s: Situation) -> Insight | None:
    """The horizon of gamma is much shorter than episodes."""
    gamma = s.value("gamma")
    if gamma is None or gamma >= 0.95 or not s.history.recent or s.share_done < 0.3:
        return None
    length = float(np.median([episode.length for episode in s.history.recent]))
    horizon = 1 / (1 - gamma)
    if length < _LONG_EPISODES * horizon / 3 or horizon > 5 or s.does_well:
        return None
    return Insight(
        code="short_sighted",
        severity=Severity.WARNING,
        title="The discount factor is very low",
        message=(
            f"With gamma {gamma:g} the horizon is about {horizon:.1f} steps, and episodes last "
            f"{length:,.0f}. Later rewards hardly count."
        ),
        evidence=s.evidence("reward", gamma=gamma, steps_ahead=horizon, episode_length=length),
        suggestion="Raise gamma to 0.99.",
        change={"hyperparameters": {"gamma": 0.99}},
        at=s.history.timesteps,
    )


def seeds_disagree(s: Situation) -> Insight | None:
    """The results of the same configuration differ much between seeds."""
    scores = np.asarray(s.seeds)
    if len(scores) < _MIN_SEEDS or s.curve is None or s.share_done < 0.5:
        return None
    best, worst = float(scores.max()), float(scores.min())
    threshold = s.environment.solved_threshold
    gain = best - s.curve.start
    if threshold is not None and best < s.curve.start + 0.3 * abs(threshold - s.curve.start):
        return None
    if gain <= 2 * (s.needed_gain or 0) or best - worst < 0.6 * gain:
        return None
    return Insight(
        code="seeds_disagree",
        severity=Severity.WARNING,
        title="Seeds disagree",
        message=f"Of {len(scores)} seeds the best reached {best:,.1f}, the worst {worst:,.1f}. "
        "The seed matters more than the configuration.",
        evidence=s.evidence(
            "mean_reward", seeds=len(scores), best=best, worst=worst, start=s.curve.start
        ),
        suggestion="Compare configurations with several seeds only. A lower learning rate, or more "
        "environments, make results depend less on the seed.",
        change={"n_envs": min(64, 2 * s.config.n_envs)},
        at=s.history.timesteps,
    )


def _never_ends(s: Situation) -> bool:
    """Whether all episodes have the same reward, which is neither a gain nor one per step."""
    rewards = np.asarray([episode.reward for episode in s.history.recent])
    # Where each step is rewarded, the time limit is as far as a perfect policy gets.
    if s.has_learned or float(np.median(rewards)) > 0:
        return False
    return float(np.percentile(rewards, 90) - np.percentile(rewards, 10)) <= 1e-6 * max(
        1.0, abs(float(np.median(rewards)))
    )
