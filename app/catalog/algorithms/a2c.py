"""Advantage Actor-Critic."""

from app.catalog.algorithms import common
from app.catalog.algorithms.network import ACTOR_AND_VALUE, ORTHOGONAL_START, log_std_init, network
from app.catalog.algorithms.spec import AlgorithmCard, AlgorithmSpec, Family, Hyperparameter
from app.catalog.environments import ActionKind

A2C = AlgorithmSpec(
    id="A2C",
    name="Advantage Actor-Critic",
    summary="Updates every few steps and uses each sample once. Simple and fast, less stable.",
    card=AlgorithmCard(
        idea=(
            "Updates once every few steps, with advantages from a learned critic, and then "
            "discards the samples."
        ),
        when="Simple tasks with fast environments. PPO is usually more stable for the same steps.",
        first=("learning_rate", "n_steps", "ent_coef"),
        how=(
            "If it diverges, lower learning_rate or raise n_steps; if it converges too "
            "early, raise ent_coef."
        ),
    ),
    family=Family.ROLLOUT,
    is_in_fast_engine=True,
    exports_to_onnx=True,
    action_kinds=tuple(ActionKind),
    default_n_envs=8,
    check_together=common.check_rollout,
    defaults_for=common.no_layers_after_convolutions,
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
            description="Use RMSprop, as in the original, instead of Adam.",
        ),
        Hyperparameter(
            name="rms_prop_eps",
            type="float",
            default=1e-5,
            min=1e-10,
            max=1.0,
            scale="log",
            description=(
                "Epsilon of RMSprop, which prevents division by zero; larger makes smaller steps."
            ),
        ),
        *common.STATE_DEPENDENT_NOISE,
        *network(64, 64, activation="tanh", networks=ACTOR_AND_VALUE),
        ORTHOGONAL_START,
        log_std_init(0.0),
    ),
)
