"""All rules, causes before symptoms: of two findings that weigh the same, the first is shown."""

import logging
from collections.abc import Iterable
from typing import Protocol

from app.analysis.doctor.rules import (
    learning,
    memory,
    policy,
    rates,
    rewards,
    setup,
    speed,
    written,
)
from app.analysis.insights.insight import Insight, Severity
from app.analysis.insights.situation import Situation


class Rule(Protocol):
    """Looks at a run and says what it sees, if it sees what it is for."""

    __name__: str

    def __call__(self, s: Situation, /) -> Insight | None:
        """Look."""


RULES: tuple[Rule, ...] = (
    learning.not_a_number,
    written.reward_exploited,
    memory.learning_not_started,
    memory.exploration,
    memory.replay_ratio,
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
    """Return everything that the rules find, the most important first."""
    found = (_apply(rule, situation) for rule in RULES)
    return by_importance(insight for insight in found if insight is not None)


def _apply(rule: Rule, situation: Situation) -> Insight | None:
    try:
        return rule(situation)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # A worker may measure anything; what one rule stumbles over is no reason to hear no other.
        _log.exception("The rule %s failed", rule.__name__)
        return None


def by_importance(insights: Iterable[Insight]) -> list[Insight]:
    """Sort findings by how much they matter; those that weigh the same keep their order."""
    return sorted(insights, key=lambda insight: _ORDER.index(insight.severity))
