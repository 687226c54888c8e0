"""Off-policy actor-critics for continuous actions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.catalog.algorithms import common
from app.catalog.algorithms.network import (
    ACTOR_AND_CRITICS,
    SDE_LOG_STD_INIT,
    n_critics,
    n_quantiles,
    network,
)
from app.catalog.algorithms.spec import AlgorithmCard, AlgorithmSpec, Family, Group, Hyperparameter
from app.catalog.environments import ActionKind, EnvSpec
from app.core import InputError

_BUFFER = 300_000
_WARMUP = 1_000

_NETWORK = network(256, 256, activation="relu", networks=ACTOR_AND_CRITICS)
_WIDE_CRITICS = (
    replace(_NETWORK[0], default={"pi": (256, 256), "qf": (1024, 1024)}),
    *_NETWORK[1:],
)
"""CrossQ's critics have no target networks and need more units instead."""


def _check_quantiles(values: Mapping[str, Any], n_envs: int, environment: EnvSpec) -> None:
    """Refuse critics that drop all their quantiles: they would never change."""
    common.check_buffer(values, n_envs, environment)
    dropped, available = values["top_quantiles_to_drop_per_net"], values["n_quantiles"]
    if dropped >= available:
        raise InputError(
            f"top_quantiles_to_drop_per_net {dropped} leaves none of the {available} quantiles of "
            f"a critic (n_quantiles) to learn from. Lower it to at most {available - 1}.",
            field="hyperparameters.top_quantiles_to_drop_per_net",
        )


SAC = AlgorithmSpec(
    id="SAC",
    name="Soft Actor-Critic",
    summary="Maximizes reward and entropy. Needs few steps, each costs more.",
    card=AlgorithmCard(
        idea=(
            "Maximizes reward plus entropy; two critics learn from a replay buffer, and the "
            "lower estimate counts."
        ),
        when="Continuous actions where steps are expensive: it needs few of them, and each costs "
        "more than with PPO.",
        first=("learning_rate", "gradient_steps", "learning_starts"),
        how=(
            "More gradient_steps use each sample more and take longer. The entropy "
            "coefficient is tuned automatically."
        ),
    ),
    family=Family.REPLAY,
    is_in_fast_engine=True,
    exports_to_onnx=True,
    action_kinds=(ActionKind.CONTINUOUS,),
    default_n_envs=1,
    check_together=common.check_buffer,
    defaults_for=common.buffer_defaults(_BUFFER),
    hyperparameters=(
        common.learning_rate(3e-4),
        *common.replay_buffer(_BUFFER, _WARMUP),
        common.batch_size(256),
        common.tau(0.005),
        common.gamma(),
        *common.update_schedule(1),
        common.TARGET_UPDATES_OF_ROUND,
        *common.ENTROPY_TARGET,
        common.action_noise(None),
        *common.STATE_DEPENDENT_NOISE,
        common.SDE_AT_WARMUP,
        *_NETWORK,
        SDE_LOG_STD_INIT,
        n_critics(2),
    ),
)

TD3 = AlgorithmSpec(
    id="TD3",
    name="Twin Delayed DDPG",
    summary="Deterministic policy with twin critics and delayed policy updates.",
    card=AlgorithmCard(
        idea=(
            "A deterministic policy with noise added to explore. Twin critics and delayed "
            "policy updates reduce overestimation."
        ),
        when=(
            "Continuous actions with dense rewards. Where rewards are sparse, SAC explores better."
        ),
        first=("action_noise", "learning_rate", "policy_delay"),
        how="If it explores too little, raise action_noise; if it jitters at the end, lower it.",
    ),
    family=Family.REPLAY,
    is_in_fast_engine=True,
    exports_to_onnx=True,
    samples_actions=False,
    action_kinds=(ActionKind.CONTINUOUS,),
    default_n_envs=1,
    check_together=common.check_buffer,
    defaults_for=common.buffer_defaults(_BUFFER),
    hyperparameters=(
        common.learning_rate(1e-3),
        *common.replay_buffer(_BUFFER, _WARMUP),
        common.batch_size(256),
        common.tau(0.005),
        common.gamma(),
        *common.update_schedule(1),
        common.policy_delay(2),
        common.action_noise(0.1),
        Hyperparameter(
            name="target_policy_noise",
            group=Group.EXPLORATION,
            type="float",
            default=0.2,
            min=0.0,
            max=10.0,
            description="Noise on target actions, which smooths the value estimate.",
        ),
        Hyperparameter(
            name="target_noise_clip",
            group=Group.EXPLORATION,
            type="float",
            default=0.5,
            min=0.0,
            max=10.0,
            description="Bound at which this noise is clipped.",
        ),
        *network(400, 300, activation="relu", networks=ACTOR_AND_CRITICS),
        n_critics(2),
    ),
)

TQC = AlgorithmSpec(
    id="TQC",
    name="Truncated Quantile Critics",
    summary="SAC that drops the highest value estimates. Often the best score per step.",
    card=AlgorithmCard(
        idea=(
            "SAC whose critics predict the distribution of returns and drop the highest quantiles."
        ),
        when="Continuous actions, when the best score for a number of steps matters more than "
        "time.",
        first=("top_quantiles_to_drop_per_net", "learning_rate", "gradient_steps"),
        how="Drop more if it overestimates returns, fewer if it underestimates them.",
    ),
    family=Family.REPLAY,
    library="sb3_contrib",
    is_in_fast_engine=True,
    exports_to_onnx=True,
    action_kinds=(ActionKind.CONTINUOUS,),
    default_n_envs=1,
    check_together=_check_quantiles,
    defaults_for=common.buffer_defaults(_BUFFER),
    hyperparameters=(
        common.learning_rate(3e-4),
        *common.replay_buffer(_BUFFER, _WARMUP),
        common.batch_size(256),
        common.tau(0.005),
        common.gamma(),
        *common.update_schedule(1),
        common.TARGET_UPDATES_OF_ROUND,
        Hyperparameter(
            name="top_quantiles_to_drop_per_net",
            type="int",
            default=2,
            min=0,
            max=24,
            description="Number of highest quantiles dropped per critic.",
        ),
        *common.ENTROPY_TARGET,
        common.action_noise(None),
        *common.STATE_DEPENDENT_NOISE,
        common.SDE_AT_WARMUP,
        *_NETWORK,
        SDE_LOG_STD_INIT,
        n_critics(2),
        n_quantiles(25),
    ),
)

CROSSQ = AlgorithmSpec(
    id="CrossQ",
    name="CrossQ",
    summary="SAC with batch normalization and no target network. Slow on a CPU.",
    card=AlgorithmCard(
        idea="SAC with batch normalization in its critics, which makes target networks "
        "unnecessary.",
        when="Continuous actions where steps are expensive. Without a GPU each step is slow.",
        first=("learning_rate", "policy_delay", "learning_starts"),
        how="If it is unstable, lower learning_rate first.",
    ),
    family=Family.REPLAY,
    library="sb3_contrib",
    action_kinds=(ActionKind.CONTINUOUS,),
    default_n_envs=1,
    check_together=common.check_buffer,
    defaults_for=common.buffer_defaults(_BUFFER),
    hyperparameters=(
        common.learning_rate(1e-3),
        *common.replay_buffer(_BUFFER, _WARMUP),
        common.batch_size(256),
        common.gamma(),
        *common.update_schedule(1),
        common.policy_delay(3),
        *common.ENTROPY_TARGET,
        common.action_noise(None),
        *common.STATE_DEPENDENT_NOISE,
        common.SDE_AT_WARMUP,
        *_WIDE_CRITICS,
        SDE_LOG_STD_INIT,
        n_critics(2),
    ),
)
