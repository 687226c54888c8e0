"""Proximal Policy Optimisation."""

from collections.abc import Mapping
from typing import Any

from app.algorithms import common
from app.algorithms.spec import AlgorithmSpec, Hyperparameter
from app.environments.spec import ActionKind, EnvSpec
from app.errors import InputError


def _check_together(values: Mapping[str, Any], n_envs: int, environment: EnvSpec) -> None:
    rollout = values["n_steps"] * n_envs
    if rollout < 2:
        raise InputError(
            "n_steps times n_envs must be at least 2, so that advantages can be normalised. "
            "Raise n_steps.",
            field="hyperparameters.n_steps",
        )
    if values["batch_size"] > rollout:
        raise InputError(
            f"batch_size {values['batch_size']} is larger than one rollout of {rollout} steps "
            f"(n_steps times n_envs). Lower batch_size or raise n_steps.",
            field="hyperparameters.batch_size",
        )
    if values["use_sde"] and environment.action_kind is not ActionKind.CONTINUOUS:
        raise InputError(
            f"use_sde needs continuous actions, {environment.id} has discrete ones. Switch it off.",
            field="hyperparameters.use_sde",
        )


PPO = AlgorithmSpec(
    id="PPO",
    name="Proximal Policy Optimisation",
    summary="Learns from fresh experience in small, safe steps. A good first choice everywhere.",
    action_kinds=tuple(ActionKind),
    default_n_envs=8,
    check_together=_check_together,
    hyperparameters=(
        common.learning_rate(3e-4),
        Hyperparameter(
            name="n_steps",
            type="int",
            default=256,
            min=1,
            max=65_536,
            scale="log",
            description="Steps collected from each parallel environment before every update.",
        ),
        common.batch_size(64),
        Hyperparameter(
            name="n_epochs",
            type="int",
            default=10,
            min=1,
            max=100,
            description="How often each update goes through the collected experience.",
        ),
        common.gamma(),
        Hyperparameter(
            name="gae_lambda",
            type="float",
            default=0.95,
            min=0.0,
            max=1.0,
            description="Trades bias (low) against variance (high) in the advantage estimate.",
        ),
        Hyperparameter(
            name="clip_range",
            type="float",
            default=0.2,
            min=0.001,
            max=1.0,
            description="How far one update may move the policy away from the one that acted.",
        ),
        Hyperparameter(
            name="clip_range_vf",
            type="float",
            default=None,
            min=0.001,
            max=1_000.0,
            nullable=True,
            description="The same limit for the value function; null switches it off.",
        ),
        Hyperparameter(
            name="normalize_advantage",
            type="bool",
            default=True,
            description="Scale the advantages of each minibatch to mean 0 and deviation 1.",
        ),
        Hyperparameter(
            name="ent_coef",
            type="float",
            default=0.0,
            min=0.0,
            max=1.0,
            description="Reward for acting unpredictably: more of it keeps exploration alive.",
        ),
        Hyperparameter(
            name="vf_coef",
            type="float",
            default=0.5,
            min=0.0,
            max=10.0,
            description="Weight of the value function's error in the loss.",
        ),
        common.max_grad_norm(0.5),
        Hyperparameter(
            name="target_kl",
            type="float",
            default=None,
            min=0.0001,
            max=1.0,
            nullable=True,
            description="End an update early once the policy has moved this far; null: never.",
        ),
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
        common.NET_ARCH,
        common.activation_fn("tanh"),
    ),
)
