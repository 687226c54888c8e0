"""Hyperparameters shared by several algorithms, and checks of their combinations."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from app.catalog.algorithms.spec import Group, Hyperparameter
from app.catalog.environments import ActionKind, EnvSpec, ObservationKind
from app.core import InputError


def fraction(
    name: str, default: float, description: str, group: Group = Group.OPTIMISATION
) -> Hyperparameter:
    """Return a hyperparameter between 0 and 1."""
    return Hyperparameter(
        name=name,
        group=group,
        type="float",
        default=default,
        min=0.0,
        max=1.0,
        description=description,
    )


def learning_rate(default: float) -> Hyperparameter:
    """Return the step size of the optimizer."""
    return Hyperparameter(
        name="learning_rate",
        type="float",
        default=default,
        min=1e-8,
        max=1.0,
        scale="log",
        schedulable=True,
        description=(
            "Step size of the optimizer. Too high and training diverges, too low and it is slow."
        ),
    )


def gamma(default: float = 0.99) -> Hyperparameter:
    """Return the discount factor."""
    return fraction(
        "gamma",
        default,
        "Discount factor: the weight of a reward one step later. Closer to 1 looks further ahead.",
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
        description="Number of transitions per gradient step.",
    )


def max_grad_norm(default: float) -> Hyperparameter:
    """Return the norm to which gradients are clipped."""
    return Hyperparameter(
        name="max_grad_norm",
        type="float",
        default=default,
        min=0.0,
        max=1_000.0,
        description=(
            "Gradients with a larger norm are clipped to it, so that one bad batch can't "
            "ruin the weights."
        ),
    )


# On-policy: learn from the newest rollout.


def n_steps(default: int) -> Hyperparameter:
    """Return the length of a rollout."""
    return Hyperparameter(
        name="n_steps",
        group=Group.EXPERIENCE,
        type="int",
        default=default,
        min=1,
        max=65_536,
        scale="log",
        description="Steps collected from each parallel environment before every update.",
    )


def gae_lambda(default: float) -> Hyperparameter:
    """Return the decay of the advantage estimate."""
    return fraction(
        "gae_lambda",
        default,
        "Trades bias (low) against variance (high) in the advantage estimate.",
        Group.EXPERIENCE,
    )


def normalize_advantage(*, default: bool) -> Hyperparameter:
    """Return whether advantages are normalized."""
    return Hyperparameter(
        name="normalize_advantage",
        type="bool",
        default=default,
        description=(
            "Normalize the advantages of each minibatch to mean 0 and standard deviation 1."
        ),
    )


ENTROPY_BONUS = Hyperparameter(
    name="ent_coef",
    group=Group.EXPLORATION,
    type="float",
    default=0.0,
    min=0.0,
    max=1.0,
    description="Weight of the entropy bonus: more keeps the policy exploring.",
)

VALUE_WEIGHT = Hyperparameter(
    name="vf_coef",
    type="float",
    default=0.5,
    min=0.0,
    max=10.0,
    description="Weight of the value loss in the total loss.",
)

STATE_DEPENDENT_NOISE = (
    Hyperparameter(
        name="use_sde",
        group=Group.EXPLORATION,
        type="bool",
        default=False,
        description="Explore with state-dependent noise, gSDE (continuous actions only).",
    ),
    Hyperparameter(
        name="sde_sample_freq",
        group=Group.EXPLORATION,
        type="int",
        default=-1,
        min=-1,
        max=65_536,
        description="Sample new state-dependent noise every so many steps; -1: once per rollout.",
    ),
)


def check_rollout(values: Mapping[str, Any], n_envs: int, environment: EnvSpec) -> None:
    """Refuse rollouts that are too short, and gSDE for discrete actions."""
    rollout = values["n_steps"] * n_envs
    if rollout < 2:
        raise InputError(
            "n_steps times n_envs must be at least 2, so that advantages can be normalized. "
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
    """Refuse contradictory LSTM settings, in addition to `check_rollout`."""
    check_rollout(values, n_envs, environment)
    if values["shared_lstm"] and values["enable_critic_lstm"]:
        raise InputError(
            "shared_lstm and enable_critic_lstm exclude each other: one LSTM for both, or one "
            "each. Switch one off.",
            field="hyperparameters.shared_lstm",
        )


# Off-policy: learn from a replay buffer.


def replay_buffer(buffer_size: int, learning_starts: int) -> tuple[Hyperparameter, ...]:
    """Return the size of the replay buffer and the step at which learning starts."""
    return (
        Hyperparameter(
            name="buffer_size",
            group=Group.EXPERIENCE,
            type="int",
            default=buffer_size,
            min=100,
            max=5_000_000,
            scale="log",
            description="Capacity of the replay buffer, in transitions.",
        ),
        Hyperparameter(
            name="learning_starts",
            group=Group.EXPERIENCE,
            type="int",
            default=learning_starts,
            min=0,
            max=10_000_000,
            scale="log",
            description="Steps with random actions before the first gradient step.",
        ),
    )


def update_schedule(train_freq: int, gradient_steps: int = 1) -> tuple[Hyperparameter, ...]:
    """Return the update frequency, the gradient steps per update, and n of n-step returns."""
    return (
        Hyperparameter(
            name="train_freq",
            group=Group.EXPERIENCE,
            type="int",
            default=train_freq,
            min=1,
            max=100_000,
            scale="log",
            description=(
                "Steps of each parallel environment between two updates: n_envs times as many "
                "over all of them."
            ),
        ),
        Hyperparameter(
            name="gradient_steps",
            type="int",
            default=gradient_steps,
            min=-1,
            max=10_000,
            description=(
                "Gradient steps per update; -1: as many as steps were collected over all "
                "environments."
            ),
        ),
        Hyperparameter(
            name="n_steps",
            group=Group.EXPERIENCE,
            type="int",
            default=1,
            min=1,
            max=100,
            description=(
                "Number of rewards that a target sums before it bootstraps (n-step returns)."
            ),
        ),
    )


def tau(default: float) -> Hyperparameter:
    """Return the soft update coefficient of target networks."""
    return fraction(
        "tau",
        default,
        "Soft update coefficient: the fraction of the network copied into the target.",
    )


def target_update_interval(default: int) -> Hyperparameter:
    """Return the interval between updates of target networks."""
    return Hyperparameter(
        name="target_update_interval",
        type="int",
        default=default,
        min=1,
        max=1_000_000,
        scale="log",
        description="Steps between two updates of the target network.",
    )


TARGET_UPDATES_OF_ROUND = replace(
    target_update_interval(1),
    description=(
        "Gradient steps of one update between two updates of the target networks, which each "
        "update begins with: no effect with one gradient step per update."
    ),
)
"""The interval of SAC and TQC: SB3 counts the gradient steps of each update from 0."""


def exploration(decay: float, final: float) -> tuple[Hyperparameter, ...]:
    """Return the schedule of epsilon-greedy exploration."""
    kind = Group.EXPLORATION
    return (
        fraction(
            "exploration_fraction",
            decay,
            "Fraction of the budget over which random actions decay.",
            kind,
        ),
        fraction("exploration_initial_eps", 1.0, "Fraction of random actions at the start.", kind),
        fraction("exploration_final_eps", final, "Fraction of random actions at the end.", kind),
    )


def action_noise(default: float | None) -> Hyperparameter:
    """Return the standard deviation of the noise that is added to actions."""
    return Hyperparameter(
        name="action_noise",
        group=Group.EXPLORATION,
        type="float",
        default=default,
        min=0.0,
        max=10.0,
        nullable=True,
        description="Standard deviation of the noise added to each action; null: none.",
    )


ENTROPY_TARGET = (
    Hyperparameter(
        name="ent_coef",
        group=Group.EXPLORATION,
        type="float",
        default=None,
        min=0.0,
        max=10.0,
        nullable=True,
        tunable=True,
        description="Weight of the entropy bonus; null: tuned automatically, auto_0.1: from 0.1 "
        "on.",
    ),
    Hyperparameter(
        name="target_entropy",
        group=Group.EXPLORATION,
        type="float",
        default=None,
        min=-1_000.0,
        max=1_000.0,
        nullable=True,
        description=(
            "Target entropy of the automatic tuning; null: by the number of action dimensions."
        ),
    ),
)


def policy_delay(default: int) -> Hyperparameter:
    """Return the number of critic updates per policy update."""
    return Hyperparameter(
        name="policy_delay",
        type="int",
        default=default,
        min=1,
        max=100,
        description="Gradient steps of the critics per update of the policy.",
    )


SDE_AT_WARMUP = Hyperparameter(
    name="use_sde_at_warmup",
    group=Group.EXPLORATION,
    type="bool",
    default=False,
    description="Use state-dependent noise before learning starts instead of random actions.",
)


_MAX_BUFFER_BYTES = 1 << 30
"""Maximum size of the observations in a replay buffer; a worker has 3 GB by default."""


def max_buffer_size(environment: EnvSpec) -> int:
    """Return the maximum size of a replay buffer in transitions, as observations are stacked."""
    observation_size = prod(environment.observation_shape)
    if environment.observation_kind is ObservationKind.IMAGE:
        # One byte per pixel; frames are stored once, however many observations they are in.
        return _MAX_BUFFER_BYTES // observation_size
    # Each transition stores the observation before the step and the one after.
    return _MAX_BUFFER_BYTES // (2 * 8 * observation_size * environment.default_frame_stack)


def buffer_defaults(buffer_size: int) -> Callable[[EnvSpec], Mapping[str, Any]]:
    """Return a function that limits the default buffer size where observations are large."""
    return lambda environment: {"buffer_size": min(buffer_size, max_buffer_size(environment))}


def no_layers_after_convolutions(environment: EnvSpec) -> Mapping[str, Any]:
    """Return SB3's default layers after the CNN of image observations, which has its own."""
    return {"net_arch": ()} if environment.observation_kind is ObservationKind.IMAGE else {}


def check_buffer(values: Mapping[str, Any], _n_envs: int, environment: EnvSpec) -> None:
    """Refuse batches larger than the replay buffer, and buffers that no worker can hold."""
    limit = max_buffer_size(environment)
    if values["buffer_size"] > limit:
        stacked = environment.default_frame_stack
        stack = f" ({stacked} observations stacked)" if stacked > 1 else ""
        raise InputError(
            f"buffer_size {values['buffer_size']:,} steps of {environment.id}{stack} don't fit "
            f"into a worker's memory; at most {limit:,} do. Lower buffer_size.",
            field="hyperparameters.buffer_size",
        )
    if values["batch_size"] > values["buffer_size"]:
        raise InputError(
            f"batch_size {values['batch_size']} is larger than the buffer of "
            f"{values['buffer_size']} steps. Lower batch_size or raise buffer_size.",
            field="hyperparameters.batch_size",
        )
