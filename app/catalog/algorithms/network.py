"""Hyperparameters of the network: its size, its non-linearity, how it begins."""

from app.catalog.algorithms.spec import Hyperparameter

ACTOR_AND_VALUE = ("pi", "vf")
ACTOR_AND_CRITICS = ("pi", "qf")


def network(
    *sizes: int, activation: str, networks: tuple[str, ...] = ()
) -> tuple[Hyperparameter, ...]:
    """Return what every network has; `networks` may each have layers of their own."""
    example = ": 64, 64; ".join(networks) + ": 256, 256"
    return (
        Hyperparameter(
            name="net_arch",
            type="layers",
            default=sizes,
            min=1,
            max=1024,
            of_policy=True,
            networks=networks,
            description="The sizes of the network's hidden layers"
            + (f", or of each network's: {example}." if networks else "."),
        ),
        Hyperparameter(
            name="activation_fn",
            type="choice",
            default=activation,
            choices=("tanh", "relu", "elu"),
            of_policy=True,
            description="The non-linearity between the network's layers.",
        ),
        Hyperparameter(
            name="layer_norm",
            type="bool",
            default=False,
            of_policy=True,
            description="Scale what each hidden layer passes on to mean 0 and deviation 1.",
        ),
    )


ORTHOGONAL_START = Hyperparameter(
    name="ortho_init",
    type="bool",
    default=True,
    of_policy=True,
    description="Begin with orthogonal weights, which keeps signals of all layers alike.",
)


def log_std_init(default: float) -> Hyperparameter:
    """Return the logarithm of the noise that a policy for continuous actions begins with."""
    return Hyperparameter(
        name="log_std_init",
        type="float",
        default=default,
        min=-10.0,
        max=3.0,
        of_policy=True,
        description="Logarithm of the deviation of actions at the start: lower is more careful.",
    )


def n_quantiles(default: int) -> Hyperparameter:
    """Return how finely the spread of returns is learned."""
    return Hyperparameter(
        name="n_quantiles",
        type="int",
        default=default,
        min=2,
        max=512,
        of_policy=True,
        description="How many values stand for the spread of returns.",
    )


def n_critics(default: int) -> Hyperparameter:
    """Return how many critics judge."""
    return Hyperparameter(
        name="n_critics",
        type="int",
        default=default,
        min=1,
        max=10,
        of_policy=True,
        description="How many critics judge an action; the most careful ones count.",
    )


LSTM = (
    Hyperparameter(
        name="lstm_hidden_size",
        type="int",
        default=64,
        min=1,
        max=1024,
        of_policy=True,
        description="How much the memory of the network holds.",
    ),
    Hyperparameter(
        name="n_lstm_layers",
        type="int",
        default=1,
        min=1,
        max=4,
        of_policy=True,
        description="How many layers of memory lie on top of each other.",
    ),
    Hyperparameter(
        name="shared_lstm",
        type="bool",
        default=False,
        of_policy=True,
        description="Let policy and value function share one memory.",
    ),
    Hyperparameter(
        name="enable_critic_lstm",
        type="bool",
        default=True,
        of_policy=True,
        description="Give the value function a memory of its own.",
    ),
)
