"""All rules, causes before symptoms: of equally severe insights the first is shown first."""

import logging
from collections.abc import Iterable
from typing import Protocol

from app.analysis.doctor.rules import (
    custom_reward,
    learning,
    policy,
    rates,
    replay_buffer,
    rewards,
    setup,
    speed,
)
from app.analysis.insights import Insight, Severity, Situation


class Rule(Protocol):
    """Returns an insight about a run if its condition holds."""

    __name__: str

    def __call__(self, s: Situation, /) -> Insight | None:
        """Apply the rule."""


RULES: tuple[Rule, ...] = (
    learning.not_a_number,
    custom_reward.reward_exploited,
    replay_buffer.learning_not_started,
    replay_buffer.exploration,
    replay_buffer.replay_ratio,
    rates.unusual_rate,
    learning.values_diverge,
    policy.policy_jumps,
    policy.policy_hardly_moves,
    policy.entropy_high,
    policy.updates_cut_short,
    policy.clips_much,
    learning.gradients_explode,
    setup.pinned_at_limit,
    setup.observation_scale,
    learning.value_loss_large,
    setup.short_sighted,
    setup.too_few_environments,
    policy.entropy_collapsed,
    learning.dead_units,
    learning.critic_useless,
    rewards.collapsed,
    rewards.stuck,
    rewards.plateau,
    setup.seeds_disagree,
    speed.slow_down,
    rewards.converged,
    rewards.variance_reduced,
    rewards.reward_outliers,
)

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.GOOD, Severity.INFO)


_log = logging.getLogger(__name__)


def examine(situation: Situation) -> list[Insight]:
    """Return the insights of all rules, the most important first."""
    found = (_apply(rule, situation) for rule in RULES)
    return by_importance(insight for insight in found if insight is not None)


def _apply(rule: Rule, situation: Situation) -> Insight | None:
    try:
        return rule(situation)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # A worker may send any values; one failing rule must not prevent the others.
        _log.exception("The rule %s failed", rule.__name__)
        return None


def by_importance(insights: Iterable[Insight]) -> list[Insight]:
    """Sort insights by severity; equally severe ones keep their order."""
    return sorted(insights, key=lambda insight: _ORDER.index(insight.severity))
