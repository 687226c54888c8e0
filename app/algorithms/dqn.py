"""Deep Q-Network."""

from collections.abc import Mapping
from typing import Any

from app.algorithms import common
from app.algorithms.spec import AlgorithmSpec, Hyperparameter
from app.environments.spec import ActionKind, EnvSpec
from app.errors import InputError


def _check_together(values: Mapping[str, Any], _n_envs: int, _environment: EnvSpec) -> None:
    if values["batch_size"] > values["buffer_size"]:
        raise InputError(
            f"batch_size {values['batch_size']} is larger than the buffer of "
            f"{values['buffer_size']} steps. Lower batch_size or raise buffer_size.",
            field="hyperparameters.batch_size",
        )


def _share(name: str, default: float, description: str) -> Hyperparameter:
    return Hyperparameter(
        name=name, type="float", default=default, min=0.0, max=1.0, description=description
    )


DQN = AlgorithmSpec(
    id="DQN",
    name="Deep Q-Network",
    summary="Learns what each action is worth from a memory of past steps. Discrete actions only.",
    action_kinds=(ActionKind.DISCRETE,),
    default_n_envs=1,
    check_together=_check_together,
    hyperparameters=(
        common.learning_rate(1e-3),
        Hyperparameter(
            name="buffer_size",
            type="int",
            default=100_000,
            min=100,
            max=5_000_000,
            scale="log",
            description="How many past steps the memory holds.",
        ),
        Hyperparameter(
            name="learning_starts",
            type="int",
            default=1_000,
            min=0,
            max=10_000_000,
            scale="log",
            description="Steps of random play before the first gradient step.",
        ),
        common.batch_size(64),
        _share("tau", 1.0, "How much of the network is copied into the target network each time."),
        common.gamma(),
        Hyperparameter(
            name="train_freq",
            type="int",
            default=4,
            min=1,
            max=100_000,
            scale="log",
            description="Environment steps between two rounds of learning.",
        ),
        Hyperparameter(
            name="gradient_steps",
            type="int",
            default=1,
            min=-1,
            max=10_000,
            description="Gradient steps in each round; -1: as many as steps were collected.",
        ),
        Hyperparameter(
            name="target_update_interval",
            type="int",
            default=500,
            min=1,
            max=1_000_000,
            scale="log",
            description="Environment steps between two copies into the target network.",
        ),
        _share("exploration_fraction", 0.2, "Part of the budget over which random play fades out."),
        _share("exploration_initial_eps", 1.0, "Share of random actions at the start."),
        _share("exploration_final_eps", 0.05, "Share of random actions that stays."),
        common.max_grad_norm(10.0),
        common.NET_ARCH,
        common.activation_fn("relu"),
    ),
)
