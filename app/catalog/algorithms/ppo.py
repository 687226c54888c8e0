"""Proximal Policy Optimisation, plain, with a memory, and with forbidden actions."""

from app.catalog.algorithms import common
from app.catalog.algorithms.network import (
    ACTOR_AND_VALUE,
    LSTM,
    ORTHOGONAL_START,
    log_std_init,
    network,
)
from app.catalog.algorithms.spec import AlgorithmSpec, Hyperparameter
from app.catalog.environments.spec import ActionKind

_CLIPPING = (
    Hyperparameter(
        name="clip_range",
        type="float",
        default=0.2,
        min=0.001,
        max=1.0,
        schedulable=True,
        description="How far one update may move the policy away from the one that acted.",
    ),
    Hyperparameter(
        name="clip_range_vf",
        type="float",
        default=None,
        min=0.001,
        max=1_000.0,
        nullable=True,
        schedulable=True,
        description="The same limit for the value function; null switches it off.",
    ),
)

_N_EPOCHS = Hyperparameter(
    name="n_epochs",
    type="int",
    default=10,
    min=1,
    max=100,
    description="How often each update goes through the collected experience.",
)

_TARGET_KL = Hyperparameter(
    name="target_kl",
    type="float",
    default=None,
    min=0.0001,
    max=1.0,
    nullable=True,
    description="End an update early once the policy has moved this far; null: never.",
)


def _shared(*, n_steps: int, batch_size: int) -> tuple[Hyperparameter, ...]:
    return (
        common.learning_rate(3e-4),
        common.n_steps(n_steps),
        common.batch_size(batch_size),
        _N_EPOCHS,
        common.gamma(),
        common.gae_lambda(0.95),
        *_CLIPPING,
        common.normalize_advantage(default=True),
        common.ENTROPY_BONUS,
        common.VALUE_WEIGHT,
        common.max_grad_norm(0.5),
        _TARGET_KL,
    )


PPO = AlgorithmSpec(
    id="PPO",
    name="Proximal Policy Optimisation",
    summary="Learns from fresh experience in small, safe steps. A good first choice everywhere.",
    action_kinds=tuple(ActionKind),
    default_n_envs=8,
    check_together=common.check_rollout,
    hyperparameters=(
        *_shared(n_steps=256, batch_size=64),
        *common.STATE_DEPENDENT_NOISE,
        *network(64, 64, activation="tanh", networks=ACTOR_AND_VALUE),
        ORTHOGONAL_START,
        log_std_init(0.0),
    ),
)

RECURRENT_PPO = AlgorithmSpec(
    id="RecurrentPPO",
    name="PPO with a memory",
    summary="PPO whose network remembers, for tasks where one observation doesn't tell all.",
    # With multi-binary actions sb3-contrib's LSTM policy fails in its loss.
    action_kinds=(ActionKind.DISCRETE, ActionKind.CONTINUOUS, ActionKind.MULTI_DISCRETE),
    default_n_envs=8,
    check_together=common.check_recurrent,
    hyperparameters=(
        *_shared(n_steps=128, batch_size=128),
        *common.STATE_DEPENDENT_NOISE,
        *network(64, activation="tanh", networks=ACTOR_AND_VALUE),
        ORTHOGONAL_START,
        log_std_init(0.0),
        *LSTM,
    ),
)

MASKABLE_PPO = AlgorithmSpec(
    id="MaskablePPO",
    name="PPO with forbidden actions",
    summary="PPO that never tries an action the environment rules out at the moment.",
    action_kinds=(ActionKind.DISCRETE, ActionKind.MULTI_DISCRETE, ActionKind.MULTI_BINARY),
    default_n_envs=8,
    check_together=common.check_rollout,
    hyperparameters=(
        *_shared(n_steps=256, batch_size=64),
        *network(64, 64, activation="tanh", networks=ACTOR_AND_VALUE),
        ORTHOGONAL_START,
    ),
)
