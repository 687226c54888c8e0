"""Hyperparameters that several algorithms share."""

from app.algorithms.spec import Hyperparameter


def learning_rate(default: float) -> Hyperparameter:
    """Return the step size of the optimiser."""
    return Hyperparameter(
        name="learning_rate",
        type="float",
        default=default,
        min=1e-8,
        max=1.0,
        scale="log",
        description="How far each gradient step moves the weights. Too high and learning breaks "
        "down, too low and it crawls.",
    )


def gamma(default: float = 0.99) -> Hyperparameter:
    """Return the discount factor."""
    return Hyperparameter(
        name="gamma",
        type="float",
        default=default,
        min=0.0,
        max=1.0,
        description="How much a reward one step later is worth. Closer to 1 looks further ahead.",
    )


def batch_size(default: int) -> Hyperparameter:
    """Return the size of a minibatch."""
    return Hyperparameter(
        name="batch_size",
        type="int",
        default=default,
        min=2,
        max=65_536,
        scale="log",
        description="How many transitions one gradient step looks at.",
    )


def max_grad_norm(default: float) -> Hyperparameter:
    """Return the clip of the gradient's length."""
    return Hyperparameter(
        name="max_grad_norm",
        type="float",
        default=default,
        min=0.0,
        max=1_000.0,
        description="Gradients longer than this are shortened to it, so that one bad batch "
        "can't throw the weights away.",
    )


NET_ARCH = Hyperparameter(
    name="net_arch",
    type="layers",
    default=(64, 64),
    min=1,
    max=1024,
    description="The sizes of the network's hidden layers.",
)


def activation_fn(default: str) -> Hyperparameter:
    """Return the network's non-linearity."""
    return Hyperparameter(
        name="activation_fn",
        type="choice",
        default=default,
        choices=("tanh", "relu", "elu"),
        description="The non-linearity between the network's layers.",
    )
