"""Let a policy compute in double precision, so that its actions don't depend on the batch.

In single precision the last digits of a product depend on the number of rows, and chaotic dynamics
such as LunarLander's turn one of them into another return. Actions are rounded to single precision
after they were computed in double precision: then they are the same in every batch.
"""

from typing import Any

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from app.worker.envs.environments import policy_kind


def can_compute_in_double(model: BaseAlgorithm) -> bool:
    """Whether the policy's networks are small and have no recurrent state."""
    has_state = getattr(model.policy, "lstm_actor", None) is not None
    return policy_kind(model.observation_space) == "Mlp" and not has_state


def compute_in_double(model: BaseAlgorithm) -> None:
    """Convert a policy to double precision; it still accepts weights in single precision."""
    model.policy.double()
    for module in model.policy.modules():
        if isinstance(module, BaseFeaturesExtractor):
            module.register_forward_pre_hook(_to_double)


def _to_double(_module: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(one.double() for one in inputs)
