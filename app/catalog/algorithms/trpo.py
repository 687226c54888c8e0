"""Trust Region Policy Optimization."""

from app.catalog.algorithms import common
from app.catalog.algorithms.network import ACTOR_AND_VALUE, ORTHOGONAL_START, log_std_init, network
from app.catalog.algorithms.spec import AlgorithmCard, AlgorithmSpec, Family, Group, Hyperparameter
from app.catalog.environments import ActionKind

TRPO = AlgorithmSpec(
    id="TRPO",
    name="Trust Region Policy Optimization",
    summary="Takes the largest policy step within a KL limit. Stable, slower than PPO.",
    card=AlgorithmCard(
        idea=(
            "Takes the largest step that keeps the new policy within a KL limit of the old "
            "one, found by line search."
        ),
        when="When stable progress matters more than speed. PPO is similar and faster.",
        first=("target_kl", "n_steps", "n_critic_updates"),
        how=(
            "A larger target_kl allows larger steps. If the critic lags behind "
            "(explained_variance stays low), raise n_critic_updates."
        ),
    ),
    family=Family.ROLLOUT,
    library="sb3_contrib",
    exports_to_onnx=True,
    action_kinds=tuple(ActionKind),
    default_n_envs=8,
    check_together=common.check_rollout,
    defaults_for=common.no_layers_after_convolutions,
    hyperparameters=(
        common.learning_rate(1e-3),
        common.n_steps(256),
        common.batch_size(128),
        common.gamma(),
        common.gae_lambda(0.95),
        Hyperparameter(
            name="target_kl",
            type="float",
            default=0.01,
            min=0.0001,
            max=1.0,
            description="Largest KL divergence of one update.",
        ),
        Hyperparameter(
            name="n_critic_updates",
            type="int",
            default=10,
            min=1,
            max=100,
            description="Number of epochs for the value function per update.",
        ),
        Hyperparameter(
            name="cg_max_steps",
            type="int",
            default=15,
            min=1,
            max=100,
            description="Steps of the conjugate gradient method.",
        ),
        Hyperparameter(
            name="cg_damping",
            type="float",
            default=0.1,
            min=0.0,
            max=1.0,
            description="Damping of that method; more makes smaller steps.",
        ),
        Hyperparameter(
            name="line_search_shrinking_factor",
            type="float",
            default=0.8,
            min=0.01,
            max=0.99,
            description="Factor by which the line search shortens a step that is too large.",
        ),
        Hyperparameter(
            name="line_search_max_iter",
            type="int",
            default=10,
            min=1,
            max=100,
            description="Largest number of line search iterations before the update is skipped.",
        ),
        Hyperparameter(
            name="sub_sampling_factor",
            group=Group.EXPERIENCE,
            type="int",
            default=1,
            min=1,
            max=64,
            description="Use only every n-th sample for the search direction.",
        ),
        common.normalize_advantage(default=True),
        *common.STATE_DEPENDENT_NOISE,
        *network(64, 64, activation="tanh", networks=ACTOR_AND_VALUE),
        ORTHOGONAL_START,
        log_std_init(0.0),
    ),
)
