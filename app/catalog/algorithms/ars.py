"""Augmented Random Search: gradient-free search with random perturbations."""

from collections.abc import Mapping
from typing import Any

from app.catalog.algorithms import common
from app.catalog.algorithms.network import network
from app.catalog.algorithms.spec import AlgorithmCard, AlgorithmSpec, Family, Group, Hyperparameter
from app.catalog.environments import ActionKind, EnvSpec
from app.core import InputError


def _check(values: Mapping[str, Any], n_envs: int, _environment: EnvSpec) -> None:
    if n_envs != 1:
        raise InputError(
            "ARS counts its steps correctly only with one environment. Set n_envs to 1.",
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
    summary=(
        "Perturbs the weights at random and follows the best directions. Needs complete episodes."
    ),
    card=AlgorithmCard(
        idea=(
            "Evaluates random perturbations of the weights over complete episodes and moves "
            "towards the better ones. No gradients."
        ),
        when="Simple control with dense rewards, where a small or linear policy is enough.",
        first=("delta_std", "learning_rate", "n_delta"),
        how=(
            "If all directions score alike, raise delta_std. If progress is noisy, try more "
            "directions with n_delta."
        ),
    ),
    family=Family.SEARCH,
    library="sb3_contrib",
    samples_actions=False,
    action_kinds=(ActionKind.DISCRETE, ActionKind.CONTINUOUS),
    default_n_envs=1,
    check_together=_check,
    hyperparameters=(
        common.learning_rate(0.02),
        Hyperparameter(
            name="n_delta",
            group=Group.EXPERIENCE,
            type="int",
            default=8,
            min=1,
            max=256,
            description="Number of random directions per update, each tried both ways.",
        ),
        Hyperparameter(
            name="n_top",
            group=Group.EXPERIENCE,
            type="int",
            default=None,
            min=1,
            max=256,
            nullable=True,
            description="Number of best directions used; null: all.",
        ),
        Hyperparameter(
            name="delta_std",
            group=Group.EXPLORATION,
            type="float",
            default=0.05,
            min=1e-6,
            max=10.0,
            scale="log",
            schedulable=True,
            description="Standard deviation of the perturbations.",
        ),
        Hyperparameter(
            name="zero_policy",
            type="bool",
            default=True,
            description="Start with all weights at zero.",
        ),
        Hyperparameter(
            name="alive_bonus_offset",
            group=Group.EXPLORATION,
            type="float",
            default=0.0,
            min=-1_000.0,
            max=1_000.0,
            description="Added to each step's reward in training, to cancel an alive bonus.",
        ),
        Hyperparameter(
            name="n_eval_episodes",
            group=Group.EXPERIENCE,
            type="int",
            default=1,
            min=1,
            max=100,
            description="Episodes with which each direction is evaluated.",
        ),
        Hyperparameter(
            name="linear",
            type="bool",
            default=True,
            group=Group.NETWORK,
            description="Use a single layer, as in the original, and ignore net_arch.",
        ),
        *network(64, 64, activation="relu"),
    ),
)
