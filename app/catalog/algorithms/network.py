"""Hyperparameters of the network: size, activation and initialization."""

from dataclasses import replace

from app.catalog.algorithms.spec import Group, Hyperparameter

ACTOR_AND_VALUE = ("pi", "vf")
ACTOR_AND_CRITICS = ("pi", "qf")


def network(
    *sizes: int, activation: str, networks: tuple[str, ...] = ()
) -> tuple[Hyperparameter, ...]:
    """Return the hyperparameters of all networks; each of `networks` may have its own layers."""
    example = ": 64, 64; ".join(networks) + ": 256, 256"
    return (
        Hyperparameter(
            name="net_arch",
            type="layers",
            default=sizes,
            min=1,
            max=2048,
            group=Group.NETWORK,
            networks=networks,
            description="Sizes of the network's hidden layers"
            + (f", or of each network's: {example}." if networks else "."),
        ),
        Hyperparameter(
            name="activation_fn",
            type="choice",
            default=activation,
            choices=("tanh", "relu", "elu"),
            group=Group.NETWORK,
            description="Activation function between the network's layers.",
        ),
        Hyperparameter(
            name="layer_norm",
            type="bool",
            default=False,
            group=Group.NETWORK,
            description="Apply layer normalization after each hidden layer.",
        ),
    )


ORTHOGONAL_START = Hyperparameter(
    name="ortho_init",
    type="bool",
    default=True,
    group=Group.NETWORK,
    description="Initialize the weights orthogonally.",
)


def log_std_init(default: float) -> Hyperparameter:
    """Return the logarithm of the initial standard deviation of continuous actions."""
    return Hyperparameter(
        name="log_std_init",
        type="float",
        default=default,
        min=-10.0,
        max=3.0,
        group=Group.NETWORK,
        description="Logarithm of the initial standard deviation of actions: lower explores less.",
    )


SDE_LOG_STD_INIT = replace(
    log_std_init(-3.0),
    description=(
        "With use_sde only: logarithm of the initial standard deviation of its noise; lower "
        "explores less. Otherwise the deviation is a learned function of the state."
    ),
)


def n_quantiles(default: int) -> Hyperparameter:
    """Return the number of quantiles of the return distribution."""
    return Hyperparameter(
        name="n_quantiles",
        type="int",
        default=default,
        min=2,
        max=512,
        group=Group.NETWORK,
        description="Number of quantiles of the return distribution.",
    )


def n_critics(default: int) -> Hyperparameter:
    """Return the number of critics."""
    return Hyperparameter(
        name="n_critics",
        type="int",
        default=default,
        min=1,
        max=10,
        group=Group.NETWORK,
        description="Number of critics; the lowest estimate counts.",
    )


LSTM = (
    Hyperparameter(
        name="lstm_hidden_size",
        type="int",
        default=64,
        min=1,
        max=1024,
        group=Group.NETWORK,
        description="Size of the LSTM's hidden state.",
    ),
    Hyperparameter(
        name="n_lstm_layers",
        type="int",
        default=1,
        min=1,
        max=4,
        group=Group.NETWORK,
        description="Number of LSTM layers.",
    ),
    Hyperparameter(
        name="shared_lstm",
        type="bool",
        default=False,
        group=Group.NETWORK,
        description="Share one LSTM between policy and value function.",
    ),
    Hyperparameter(
        name="enable_critic_lstm",
        type="bool",
        default=True,
        group=Group.NETWORK,
        description="Use a separate LSTM for the value function.",
    ),
)
