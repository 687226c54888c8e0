"""Deep Q-Networks: what is each action worth?"""

from app.catalog.algorithms import common
from app.catalog.algorithms.network import n_quantiles, network
from app.catalog.algorithms.spec import AlgorithmSpec
from app.catalog.environments.spec import ActionKind

_HYPERPARAMETERS = (
    common.learning_rate(1e-3),
    *common.memory(100_000, 1_000),
    common.batch_size(64),
    common.tau(1.0),
    common.gamma(),
    *common.rounds(4),
    common.target_update_interval(500),
    *common.exploration(0.2, 0.05),
    common.max_grad_norm(10.0),
    *network(64, 64, activation="relu"),
)

DQN = AlgorithmSpec(
    id="DQN",
    name="Deep Q-Network",
    summary="Learns what each action is worth from a memory of past steps. Discrete actions only.",
    action_kinds=(ActionKind.DISCRETE,),
    default_n_envs=1,
    check_together=common.check_memory,
    defaults_for=common.memory_defaults(100_000),
    hyperparameters=_HYPERPARAMETERS,
)

QRDQN = AlgorithmSpec(
    id="QRDQN",
    name="Quantile Regression DQN",
    summary="DQN that learns how returns are spread, not only their mean. Discrete actions only.",
    action_kinds=(ActionKind.DISCRETE,),
    default_n_envs=1,
    check_together=common.check_memory,
    defaults_for=common.memory_defaults(100_000),
    hyperparameters=(*_HYPERPARAMETERS, n_quantiles(50)),
)
