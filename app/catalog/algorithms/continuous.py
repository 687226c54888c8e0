"""Actor-critics with a memory, for continuous actions."""

from app.catalog.algorithms import common
from app.catalog.algorithms.network import (
    ACTOR_AND_CRITICS,
    log_std_init,
    n_critics,
    n_quantiles,
    network,
)
from app.catalog.algorithms.spec import AlgorithmSpec, Hyperparameter
from app.catalog.environments.spec import ActionKind

_BUFFER = 300_000
_WARMUP = 1_000

SAC = AlgorithmSpec(
    id="SAC",
    name="Soft Actor-Critic",
    summary="Seeks reward and surprise at once. Few steps needed, each costs more.",
    action_kinds=(ActionKind.CONTINUOUS,),
    default_n_envs=1,
    check_together=common.check_memory,
    defaults_for=common.memory_defaults(_BUFFER),
    hyperparameters=(
        common.learning_rate(3e-4),
        *common.memory(_BUFFER, _WARMUP),
        common.batch_size(256),
        common.tau(0.005),
        common.gamma(),
        *common.rounds(1),
        common.target_update_interval(1),
        *common.ENTROPY_TARGET,
        common.action_noise(None),
        *common.STATE_DEPENDENT_NOISE,
        common.SDE_AT_WARMUP,
        *network(256, 256, activation="relu", networks=ACTOR_AND_CRITICS),
        log_std_init(-3.0),
        n_critics(2),
    ),
)

TD3 = AlgorithmSpec(
    id="TD3",
    name="Twin Delayed DDPG",
    summary="Two critics keep each other honest; the policy learns half as often.",
    action_kinds=(ActionKind.CONTINUOUS,),
    default_n_envs=1,
    check_together=common.check_memory,
    defaults_for=common.memory_defaults(_BUFFER),
    hyperparameters=(
        common.learning_rate(1e-3),
        *common.memory(_BUFFER, _WARMUP),
        common.batch_size(256),
        common.tau(0.005),
        common.gamma(),
        *common.rounds(1),
        common.policy_delay(2),
        common.action_noise(0.1),
        Hyperparameter(
            name="target_policy_noise",
            type="float",
            default=0.2,
            min=0.0,
            max=10.0,
            description="Noise on the target's actions, so that sharp peaks can't be exploited.",
        ),
        Hyperparameter(
            name="target_noise_clip",
            type="float",
            default=0.5,
            min=0.0,
            max=10.0,
            description="The most that this noise may be.",
        ),
        *network(256, 256, activation="relu", networks=ACTOR_AND_CRITICS),
        n_critics(2),
    ),
)

TQC = AlgorithmSpec(
    id="TQC",
    name="Truncated Quantile Critics",
    summary="SAC that drops its most optimistic guesses. Often the best score per step.",
    action_kinds=(ActionKind.CONTINUOUS,),
    default_n_envs=1,
    check_together=common.check_memory,
    defaults_for=common.memory_defaults(_BUFFER),
    hyperparameters=(
        common.learning_rate(3e-4),
        *common.memory(_BUFFER, _WARMUP),
        common.batch_size(256),
        common.tau(0.005),
        common.gamma(),
        *common.rounds(1),
        common.target_update_interval(1),
        Hyperparameter(
            name="top_quantiles_to_drop_per_net",
            type="int",
            default=2,
            min=0,
            max=24,
            description="How many of the most optimistic guesses of each critic are dropped.",
        ),
        *common.ENTROPY_TARGET,
        common.action_noise(None),
        *common.STATE_DEPENDENT_NOISE,
        common.SDE_AT_WARMUP,
        *network(256, 256, activation="relu", networks=ACTOR_AND_CRITICS),
        log_std_init(-3.0),
        n_critics(2),
        n_quantiles(25),
    ),
)

CROSSQ = AlgorithmSpec(
    id="CrossQ",
    name="CrossQ",
    summary="SAC with batch normalisation and no target network. Slow on a processor.",
    action_kinds=(ActionKind.CONTINUOUS,),
    default_n_envs=1,
    check_together=common.check_memory,
    defaults_for=common.memory_defaults(_BUFFER),
    hyperparameters=(
        common.learning_rate(1e-3),
        *common.memory(_BUFFER, _WARMUP),
        common.batch_size(256),
        common.gamma(),
        *common.rounds(1),
        common.policy_delay(3),
        *common.ENTROPY_TARGET,
        common.action_noise(None),
        *common.STATE_DEPENDENT_NOISE,
        common.SDE_AT_WARMUP,
        *network(256, 256, activation="relu", networks=ACTOR_AND_CRITICS),
        log_std_init(-3.0),
        n_critics(2),
    ),
)
