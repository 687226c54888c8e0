"""Multi-armed bandits, implemented in app/worker/envs/bandits.py."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.catalog.environments.options import EnvOption
from app.catalog.environments.spec import ActionKind, EnvSpec, Observed

_ARMS = EnvOption(
    name="arms", type="int", default=10, min=2, max=50, description="Number of levers."
)
_PROBLEM = EnvOption(
    name="problem",
    type="int",
    default=0,
    min=0,
    max=1_000_000,
    description="Seed of the levers' payouts; the same number gives the same payouts.",
)
_NOISE = EnvOption(
    name="noise",
    type="float",
    default=1.0,
    min=0.0,
    max=10.0,
    description="Standard deviation of the payouts around a lever's mean.",
)
_CONTEXTS = EnvOption(
    name="contexts",
    type="int",
    default=4,
    min=1,
    max=20,
    description="Number of situations, each with its own payouts.",
)


def _situations(count: int) -> tuple[Observed, ...]:
    return tuple(Observed(name=f"situation {i + 1}", low=0.0, high=1.0) for i in range(count))


def _configured(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "n_actions": values["arms"],
        "action_labels": tuple(f"lever {arm + 1}" for arm in range(values["arms"])),
        "observed": _situations(values.get("contexts", 1)),
    }


GAUSSIAN_BANDIT = EnvSpec(
    id="GaussianBandit-v0",
    name="Bandit, Gaussian",
    family="bandits",
    description="Pull one of ten levers again and again; their payouts scatter around a mean.",
    action_kind=ActionKind.DISCRETE,
    n_actions=10,
    action_labels=tuple(f"lever {arm + 1}" for arm in range(10)),
    observed=_situations(1),
    reward_range=(None, None),
    solved_threshold=None,
    max_episode_steps=100,
    default_timesteps=50_000,
    options=(_ARMS, _NOISE, _PROBLEM),
    changed_by=_configured,
)

BERNOULLI_BANDIT = replace(
    GAUSSIAN_BANDIT,
    id="BernoulliBandit-v0",
    name="Bandit, Bernoulli",
    description=(
        "Pull one of ten levers again and again; each pays 1 or 0 with its own probability."
    ),
    reward_range=(0.0, 1.0),
    options=(_ARMS, _PROBLEM),
)

CONTEXTUAL_BANDIT = replace(
    GAUSSIAN_BANDIT,
    id="ContextualBandit-v0",
    name="Bandit, contextual",
    description="Pull the lever with the best payout in the given situation.",
    observed=_situations(4),
    options=(_ARMS, _CONTEXTS, _NOISE, _PROBLEM),
)
