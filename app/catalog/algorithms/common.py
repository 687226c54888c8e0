"""Hyperparameters that several algorithms share, and what must fit together in them."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from app.catalog.algorithms.spec import Hyperparameter
from app.catalog.environments.spec import ActionKind, EnvSpec, ObservationKind
from app.core.errors import InputError


def share(name: str, default: float, description: str) -> Hyperparameter:
    """Return a hyperparameter from 0 to 1."""
    return Hyperparameter(
        name=name, type="float", default=default, min=0.0, max=1.0, description=description
    )


def learning_rate(default: float) -> Hyperparameter:
    """Return the step size of the optimiser."""
    return Hyperparameter(
        name="learning_rate",
        type="float",
        default=default,
        min=1e-8,
        max=1.0,
        scale="log",
        schedulable=True,
        description="How far each gradient step moves the weights. Too high and learning breaks "
        "down, too low and it crawls.",
    )


def gamma(default: float = 0.99) -> Hyperparameter:
    """Return the discount factor."""
    return share(
        "gamma",
        default,
        "How much a reward one step later is worth. Closer to 1 looks further ahead.",
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


# On-policy: learn from what was just collected.


def n_steps(default: int) -> Hyperparameter:
    """Return the length of a rollout."""
    return Hyperparameter(
        name="n_steps",
        type="int",
        default=default,
        min=1,
        max=65_536,
        scale="log",
        description="Steps collected from each parallel environment before every update.",
    )


def gae_lambda(default: float) -> Hyperparameter:
    """Return the decay of the advantage estimate."""
    return share(
        "gae_lambda",
        default,
        "Trades bias (low) against variance (high) in the advantage estimate.",
    )


def normalize_advantage(*, default: bool) -> Hyperparameter:
    """Return whether advantages are scaled."""
    return Hyperparameter(
        name="normalize_advantage",
        type="bool",
        default=default,
        description="Scale the advantages of each minibatch to mean 0 and deviation 1.",
    )


ENTROPY_BONUS = Hyperparameter(
    name="ent_coef",
    type="float",
    default=0.0,
    min=0.0,
    max=1.0,
    description="Reward for acting unpredictably: more of it keeps exploration alive.",
)

VALUE_WEIGHT = Hyperparameter(
    name="vf_coef",
    type="float",
    default=0.5,
    min=0.0,
    max=10.0,
    description="Weight of the value function's error in the loss.",
)

STATE_DEPENDENT_NOISE = (
    Hyperparameter(
        name="use_sde",
        type="bool",
        default=False,
        description="Explore with noise that depends on the state (continuous actions only).",
    ),
    Hyperparameter(
        name="sde_sample_freq",
        type="int",
        default=-1,
        min=-1,
        max=65_536,
        description="Draw new state-dependent noise every so many steps; -1: once a rollout.",
    ),
)


def check_rollout(values: Mapping[str, Any], n_envs: int, environment: EnvSpec) -> None:
    """Refuse rollouts that are too short, and noise where there is none."""
    rollout = values["n_steps"] * n_envs
    if rollout < 2:
        raise InputError(
            "n_steps times n_envs must be at least 2, so that advantages can be normalised. "
            "Raise n_steps.",
            field="hyperparameters.n_steps",
        )
    if values.get("batch_size", 0) > rollout:
        raise InputError(
            f"batch_size {values['batch_size']} is larger than one rollout of {rollout} steps "
            f"(n_steps times n_envs). Lower batch_size or raise n_steps.",
            field="hyperparameters.batch_size",
        )
    if values.get("use_sde") and environment.action_kind is not ActionKind.CONTINUOUS:
        raise InputError(
            f"use_sde needs continuous actions, {environment.id} has discrete ones. Switch it off.",
            field="hyperparameters.use_sde",
        )


def check_recurrent(values: Mapping[str, Any], n_envs: int, environment: EnvSpec) -> None:
    """Refuse what a network with a memory can't do."""
    check_rollout(values, n_envs, environment)
    if values["shared_lstm"] and values["enable_critic_lstm"]:
        raise InputError(
            "shared_lstm and enable_critic_lstm exclude each other: one memory for both, or one "
            "each. Switch one off.",
            field="hyperparameters.shared_lstm",
        )


# Off-policy: learn from a memory of past steps.


def memory(buffer_size: int, learning_starts: int) -> tuple[Hyperparameter, ...]:
    """Return the size of the replay buffer and when learning begins."""
    return (
        Hyperparameter(
            name="buffer_size",
            type="int",
            default=buffer_size,
            min=100,
            max=5_000_000,
            scale="log",
            description="How many past steps the memory holds.",
        ),
        Hyperparameter(
            name="learning_starts",
            type="int",
            default=learning_starts,
            min=0,
            max=10_000_000,
            scale="log",
            description="Steps of random play before the first gradient step.",
        ),
    )


def rounds(train_freq: int, gradient_steps: int = 1) -> tuple[Hyperparameter, ...]:
    """Return how often and how much is learned, and how far a return looks."""
    return (
        Hyperparameter(
            name="train_freq",
            type="int",
            default=train_freq,
            min=1,
            max=100_000,
            scale="log",
            description="Environment steps between two rounds of learning.",
        ),
        Hyperparameter(
            name="gradient_steps",
            type="int",
            default=gradient_steps,
            min=-1,
            max=10_000,
            description="Gradient steps in each round; -1: as many as steps were collected.",
        ),
        Hyperparameter(
            name="n_steps",
            type="int",
            default=1,
            min=1,
            max=100,
            description="How many real rewards a target adds up before it trusts the estimate.",
        ),
    )


def tau(default: float) -> Hyperparameter:
    """Return how fast target networks follow."""
    return share("tau", default, "How much of the network is copied into the target each time.")


def target_update_interval(default: int) -> Hyperparameter:
    """Return how often target networks follow."""
    return Hyperparameter(
        name="target_update_interval",
        type="int",
        default=default,
        min=1,
        max=1_000_000,
        scale="log",
        description="Steps between two copies into the target network.",
    )


def exploration(fraction: float, final: float) -> tuple[Hyperparameter, ...]:
    """Return how random play fades out."""
    return (
        share("exploration_fraction", fraction, "Part of the budget over which it fades out."),
        share("exploration_initial_eps", 1.0, "Share of random actions at the start."),
        share("exploration_final_eps", final, "Share of random actions that stays."),
    )


def action_noise(default: float | None) -> Hyperparameter:
    """Return the deviation of the noise that is added to actions."""
    return Hyperparameter(
        name="action_noise",
        type="float",
        default=default,
        min=0.0,
        max=10.0,
        nullable=True,
        description="Deviation of the random noise added to each action; null: none.",
    )


ENTROPY_TARGET = (
    Hyperparameter(
        name="ent_coef",
        type="float",
        default=None,
        min=0.0,
        max=10.0,
        nullable=True,
        description="Reward for acting unpredictably; null: found automatically.",
    ),
    Hyperparameter(
        name="target_entropy",
        type="float",
        default=None,
        min=-1_000.0,
        max=1_000.0,
        nullable=True,
        description="How unpredictable the automatic search wants to be; null: by action size.",
    ),
)


def policy_delay(default: int) -> Hyperparameter:
    """Return how much rarer the policy learns than the critics."""
    return Hyperparameter(
        name="policy_delay",
        type="int",
        default=default,
        min=1,
        max=100,
        description="The policy learns once in so many gradient steps of the critics.",
    )


SDE_AT_WARMUP = Hyperparameter(
    name="use_sde_at_warmup",
    type="bool",
    default=False,
    description="Use state-dependent noise before learning starts instead of random actions.",
)


_LARGEST_MEMORY = 1 << 30
"""How many bytes of observations a memory may hold; a worker has 3 GB by default."""


def largest_buffer(environment: EnvSpec) -> int:
    """Return how many steps of an environment a worker can remember."""
    is_picture = environment.observation_kind is ObservationKind.IMAGE
    one = prod(environment.observation_shape) * (1 if is_picture else 8)
    # Each step keeps the observation before and the one after.
    return _LARGEST_MEMORY // (2 * one * environment.default_frame_stack)


def memory_defaults(buffer_size: int) -> Callable[[EnvSpec], Mapping[str, Any]]:
    """Let the memory's default be smaller where observations are large."""
    return lambda environment: {"buffer_size": min(buffer_size, largest_buffer(environment))}


def check_memory(values: Mapping[str, Any], _n_envs: int, environment: EnvSpec) -> None:
    """Refuse batches that the memory can't fill, and memories that no worker can hold."""
    most = largest_buffer(environment)
    if values["buffer_size"] > most:
        raise InputError(
            f"buffer_size {values['buffer_size']:,} steps of {environment.id} don't fit into a "
            f"worker's memory; at most {most:,} do. Lower buffer_size.",
            field="hyperparameters.buffer_size",
        )
    if values["batch_size"] > values["buffer_size"]:
        raise InputError(
            f"batch_size {values['batch_size']} is larger than the buffer of "
            f"{values['buffer_size']} steps. Lower batch_size or raise buffer_size.",
            field="hyperparameters.batch_size",
        )
