"""Deep Q-Networks, which learn action values."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.catalog.algorithms import common
from app.catalog.algorithms.network import n_quantiles, network
from app.catalog.algorithms.spec import AlgorithmCard, AlgorithmSpec, Family
from app.catalog.environments import ActionKind, EnvSpec

_MAX_NORM = common.max_grad_norm(10.0)

_HYPERPARAMETERS = (
    common.learning_rate(1e-3),
    *common.replay_buffer(100_000, 1_000),
    common.batch_size(64),
    common.tau(1.0),
    common.gamma(),
    *common.update_schedule(4),
    common.target_update_interval(500),
    *common.exploration(0.2, 0.05),
    _MAX_NORM,
    *network(64, 64, activation="relu"),
)


def _defaults(environment: EnvSpec) -> Mapping[str, Any]:
    return {
        **common.buffer_defaults(100_000)(environment),
        **common.no_layers_after_convolutions(environment),
    }


DQN = AlgorithmSpec(
    id="DQN",
    name="Deep Q-Network",
    summary="Learns action values from a replay buffer. Discrete actions only.",
    card=AlgorithmCard(
        idea=(
            "Learns the value of each action in each state from a replay buffer, and takes "
            "the best action."
        ),
        when="Discrete actions where steps are expensive: each sample is used many times.",
        first=("learning_rate", "exploration_fraction", "target_update_interval"),
        how=(
            "If it never finds the reward, explore longer with exploration_fraction. If its "
            "values diverge, lower learning_rate or raise target_update_interval."
        ),
    ),
    family=Family.REPLAY,
    is_in_fast_engine=True,
    exports_to_onnx=True,
    action_kinds=(ActionKind.DISCRETE,),
    default_n_envs=1,
    check_together=common.check_buffer,
    defaults_for=_defaults,
    hyperparameters=_HYPERPARAMETERS,
)

QRDQN = AlgorithmSpec(
    id="QRDQN",
    name="Quantile Regression DQN",
    summary=(
        "DQN that learns the distribution of returns, not only their mean. Discrete actions only."
    ),
    card=AlgorithmCard(
        idea="DQN that learns the distribution of returns as quantiles, not only their mean.",
        when="Discrete actions in stochastic environments. Often better than DQN, and slower.",
        first=("learning_rate", "exploration_fraction", "n_quantiles"),
        how="As with DQN; fewer n_quantiles make it faster.",
    ),
    family=Family.REPLAY,
    library="sb3_contrib",
    exports_to_onnx=True,
    action_kinds=(ActionKind.DISCRETE,),
    default_n_envs=1,
    check_together=common.check_buffer,
    defaults_for=_defaults,
    hyperparameters=(
        *(replace(one, nullable=True) if one == _MAX_NORM else one for one in _HYPERPARAMETERS),
        n_quantiles(50),
    ),
)
