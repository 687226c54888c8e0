"""Advantage Actor-Critic."""

from app.catalog.algorithms import common
from app.catalog.algorithms.network import ACTOR_AND_VALUE, ORTHOGONAL_START, log_std_init, network
from app.catalog.algorithms.spec import AlgorithmSpec, Hyperparameter
from app.catalog.environments.spec import ActionKind

A2C = AlgorithmSpec(
    id="A2C",
    name="Advantage Actor-Critic",
    summary="Learns after a few steps at a time, once from each. Simple and quick, less steady.",
    action_kinds=tuple(ActionKind),
    default_n_envs=8,
    check_together=common.check_rollout,
    hyperparameters=(
        common.learning_rate(7e-4),
        common.n_steps(5),
        common.gamma(),
        common.gae_lambda(1.0),
        common.normalize_advantage(default=False),
        common.ENTROPY_BONUS,
        common.VALUE_WEIGHT,
        common.max_grad_norm(0.5),
        Hyperparameter(
            name="use_rms_prop",
            type="bool",
            default=True,
            description="Use RMSprop, as the original did, instead of Adam.",
        ),
        Hyperparameter(
            name="rms_prop_eps",
            type="float",
            default=1e-5,
            min=1e-10,
            max=1.0,
            scale="log",
            description="Keeps RMSprop from dividing by zero; larger is calmer.",
        ),
        *common.STATE_DEPENDENT_NOISE,
        *network(64, 64, activation="tanh", networks=ACTOR_AND_VALUE),
        ORTHOGONAL_START,
        log_std_init(0.0),
    ),
)
