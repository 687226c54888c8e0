"""Proximal Policy Optimization: plain, recurrent, and with action masks."""

from app.catalog.algorithms import common
from app.catalog.algorithms.network import (
    ACTOR_AND_VALUE,
    LSTM,
    ORTHOGONAL_START,
    log_std_init,
    network,
)
from app.catalog.algorithms.spec import AlgorithmCard, AlgorithmSpec, Family, Hyperparameter
from app.catalog.environments import ActionKind

_CLIPPING = (
    Hyperparameter(
        name="clip_range",
        type="float",
        default=0.2,
        min=0.001,
        max=1.0,
        schedulable=True,
        description=(
            "How far one update may move the policy from the one that collected the samples."
        ),
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
    description="Number of epochs over the collected samples per update.",
)

_TARGET_KL = Hyperparameter(
    name="target_kl",
    type="float",
    default=None,
    min=0.0001,
    max=1.0,
    nullable=True,
    description="Stop an update early at this KL divergence; null: never.",
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
    name="Proximal Policy Optimization",
    summary="Learns from new samples with clipped updates. A good first choice everywhere.",
    card=AlgorithmCard(
        idea=(
            "Collects a rollout, makes a few epochs over it, and clips every update so that "
            "the new policy stays close to the old one."
        ),
        when="A good first choice everywhere, above all where steps are cheap: it needs more of "
        "them than SAC, and each costs less.",
        first=("learning_rate", "n_steps", "ent_coef"),
        how=(
            "If it diverges, lower learning_rate. If it gets stuck early, a little ent_coef "
            "keeps it exploring. If it is unstable, collect more with n_steps."
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
        *_shared(n_steps=256, batch_size=64),
        *common.STATE_DEPENDENT_NOISE,
        *network(64, 64, activation="tanh", networks=ACTOR_AND_VALUE),
        ORTHOGONAL_START,
        log_std_init(0.0),
    ),
)

RECURRENT_PPO = AlgorithmSpec(
    id="RecurrentPPO",
    name="PPO with an LSTM",
    summary="PPO with a recurrent policy, for partially observable tasks.",
    card=AlgorithmCard(
        idea=(
            "PPO with a recurrent network, so that its actions can depend on earlier observations."
        ),
        when=(
            "Partially observable tasks, such as hidden velocities. Otherwise plain PPO, "
            "with frame_stack if needed, is much faster."
        ),
        first=("learning_rate", "n_steps", "lstm_hidden_size"),
        how="As with PPO; n_steps should cover the history that matters.",
    ),
    family=Family.ROLLOUT,
    library="sb3_contrib",
    # With multi-binary actions sb3-contrib's LSTM policy fails in its loss.
    action_kinds=(ActionKind.DISCRETE, ActionKind.CONTINUOUS, ActionKind.MULTI_DISCRETE),
    default_n_envs=8,
    check_together=common.check_recurrent,
    defaults_for=common.no_layers_after_convolutions,
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
    name="PPO with action masks",
    summary="PPO that never takes an action that the environment masks as invalid.",
    card=AlgorithmCard(
        idea="PPO that masks the actions which are invalid in the current state.",
        when="Environments with action masks, such as board games. Without masks it is plain PPO.",
        first=("learning_rate", "n_steps", "ent_coef"),
        how="As with PPO.",
    ),
    family=Family.ROLLOUT,
    library="sb3_contrib",
    masks_actions=True,
    action_kinds=(ActionKind.DISCRETE, ActionKind.MULTI_DISCRETE, ActionKind.MULTI_BINARY),
    default_n_envs=8,
    check_together=common.check_rollout,
    defaults_for=common.no_layers_after_convolutions,
    hyperparameters=(
        *_shared(n_steps=256, batch_size=64),
        *network(64, 64, activation="tanh", networks=ACTOR_AND_VALUE),
        ORTHOGONAL_START,
    ),
)
