"""Trust Region Policy Optimisation."""

from app.catalog.algorithms import common
from app.catalog.algorithms.network import ACTOR_AND_VALUE, ORTHOGONAL_START, log_std_init, network
from app.catalog.algorithms.spec import AlgorithmSpec, Hyperparameter
from app.catalog.environments.spec import ActionKind

TRPO = AlgorithmSpec(
    id="TRPO",
    name="Trust Region Policy Optimisation",
    summary="Takes the largest policy step that a limit allows. Steady, slower than PPO.",
    action_kinds=tuple(ActionKind),
    default_n_envs=8,
    check_together=common.check_rollout,
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
            description="How far one update may move the policy.",
        ),
        Hyperparameter(
            name="n_critic_updates",
            type="int",
            default=10,
            min=1,
            max=100,
            description="How often each update goes through the experience for the value function.",
        ),
        Hyperparameter(
            name="cg_max_steps",
            type="int",
            default=15,
            min=1,
            max=100,
            description="Steps of the conjugate-gradient search for the policy's direction.",
        ),
        Hyperparameter(
            name="cg_damping",
            type="float",
            default=0.1,
            min=0.0,
            max=1.0,
            description="Steadies that search; more of it makes shorter steps.",
        ),
        Hyperparameter(
            name="line_search_shrinking_factor",
            type="float",
            default=0.8,
            min=0.01,
            max=0.99,
            description="A step that goes too far is shortened by this factor and tried again.",
        ),
        Hyperparameter(
            name="line_search_max_iter",
            type="int",
            default=10,
            min=1,
            max=100,
            description="How often it is tried again before the update is given up.",
        ),
        Hyperparameter(
            name="sub_sampling_factor",
            type="int",
            default=1,
            min=1,
            max=64,
            description="Use only one in so many steps for the policy's direction.",
        ),
        common.normalize_advantage(default=True),
        *common.STATE_DEPENDENT_NOISE,
        *network(64, 64, activation="tanh", networks=ACTOR_AND_VALUE),
        ORTHOGONAL_START,
        log_std_init(0.0),
    ),
)
