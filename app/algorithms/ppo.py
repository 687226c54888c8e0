"""Proximal Policy Optimisation."""

from app.algorithms import common
from app.algorithms.spec import AlgorithmSpec, Hyperparameter
from app.environments.spec import ActionKind

PPO = AlgorithmSpec(
    id="PPO",
    name="Proximal Policy Optimisation",
    summary="Learns from fresh experience in small, safe steps. A good first choice everywhere.",
    action_kinds=tuple(ActionKind),
    default_n_envs=8,
    check_together=common.check_rollout,
    hyperparameters=(
        common.learning_rate(3e-4),
        common.n_steps(256),
        common.batch_size(64),
        Hyperparameter(
            name="n_epochs",
            type="int",
            default=10,
            min=1,
            max=100,
            description="How often each update goes through the collected experience.",
        ),
        common.gamma(),
        common.gae_lambda(0.95),
        Hyperparameter(
            name="clip_range",
            type="float",
            default=0.2,
            min=0.001,
            max=1.0,
            description="How far one update may move the policy away from the one that acted.",
        ),
        Hyperparameter(
            name="clip_range_vf",
            type="float",
            default=None,
            min=0.001,
            max=1_000.0,
            nullable=True,
            description="The same limit for the value function; null switches it off.",
        ),
        common.normalize_advantage(default=True),
        common.ENTROPY_BONUS,
        common.VALUE_WEIGHT,
        common.max_grad_norm(0.5),
        Hyperparameter(
            name="target_kl",
            type="float",
            default=None,
            min=0.0001,
            max=1.0,
            nullable=True,
            description="End an update early once the policy has moved this far; null: never.",
        ),
        *common.STATE_DEPENDENT_NOISE,
        common.net_arch(64, 64),
        common.activation_fn("tanh"),
    ),
)
