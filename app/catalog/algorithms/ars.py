"""Augmented Random Search: no gradients, only many small tries."""

from collections.abc import Mapping
from typing import Any

from app.catalog.algorithms import common
from app.catalog.algorithms.network import network
from app.catalog.algorithms.spec import AlgorithmSpec, Hyperparameter
from app.catalog.environments.spec import ActionKind, EnvSpec
from app.core.errors import InputError


def _check(values: Mapping[str, Any], n_envs: int, _environment: EnvSpec) -> None:
    if n_envs != 1:
        raise InputError(
            "ARS counts its steps right with one environment only. Set n_envs to 1.",
            field="n_envs",
        )
    if (values["n_top"] or 0) > values["n_delta"]:
        raise InputError(
            f"n_top {values['n_top']} is larger than n_delta {values['n_delta']}. Lower n_top.",
            field="hyperparameters.n_top",
        )


ARS = AlgorithmSpec(
    id="ARS",
    name="Augmented Random Search",
    summary="Tries random changes of the weights and follows the good ones. Needs whole episodes.",
    action_kinds=(ActionKind.DISCRETE, ActionKind.CONTINUOUS),
    default_n_envs=1,
    check_together=_check,
    hyperparameters=(
        common.learning_rate(0.02),
        Hyperparameter(
            name="n_delta",
            type="int",
            default=8,
            min=1,
            max=256,
            description="How many random directions each update tries, both ways.",
        ),
        Hyperparameter(
            name="n_top",
            type="int",
            default=None,
            min=1,
            max=256,
            nullable=True,
            description="How many of the best directions are followed; null: all.",
        ),
        Hyperparameter(
            name="delta_std",
            type="float",
            default=0.05,
            min=1e-6,
            max=10.0,
            scale="log",
            schedulable=True,
            description="How far each try goes.",
        ),
        Hyperparameter(
            name="zero_policy",
            type="bool",
            default=True,
            description="Begin with all weights at zero.",
        ),
        Hyperparameter(
            name="alive_bonus_offset",
            type="float",
            default=0.0,
            min=-1_000.0,
            max=1_000.0,
            description="Added to each step's reward while learning, to cancel a bonus for living.",
        ),
        Hyperparameter(
            name="n_eval_episodes",
            type="int",
            default=1,
            min=1,
            max=100,
            description="Episodes by which each try is judged.",
        ),
        Hyperparameter(
            name="linear",
            type="bool",
            default=True,
            of_policy=True,
            description="Use a single layer, as the original does, whatever net_arch says.",
        ),
        *network(64, 64, activation="relu"),
    ),
)
