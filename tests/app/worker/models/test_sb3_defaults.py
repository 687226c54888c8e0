"""The preset "SB3 defaults" and the help of fields agree with SB3's classes."""

import inspect
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest
from stable_baselines3.common.base_class import BaseAlgorithm
from torch import nn

from app.catalog.algorithms.catalogue import ALGORITHMS
from app.catalog.algorithms.sb3_defaults import sb3_defaults
from app.catalog.environments.spec import ActionKind
from app.catalog.presets.spec import PresetName
from app.core.notation import write_value
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models.algorithms import ALGORITHMS as IMPLEMENTATIONS
from app.worker.models.models import build_model

_ONLY_HERE = {"layer_norm", "linear"}
"""Hyperparameters that no constructor of SB3 has."""
_COMPARED_AS_NETWORKS = {"net_arch"}
_AUTOMATIC = {"ent_coef", "target_entropy"}
"""SB3 writes "auto" where the lab has null."""


def policy_name(algorithm: str) -> str:
    """Return the policy that SB3's documentation uses."""
    names = IMPLEMENTATIONS[algorithm].sb3.policy_aliases
    return next(name for name in ("LinearPolicy", "MlpPolicy", "MlpLstmPolicy") if name in names)


def arguments(algorithm: str) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of SB3's algorithm and its policy with their defaults."""
    model_class = IMPLEMENTATIONS[algorithm].sb3
    policy_class = model_class.policy_aliases[policy_name(algorithm)]
    for target in (policy_class, model_class):
        for name, parameter in inspect.signature(target.__init__).parameters.items():  # type: ignore[misc]
            yield name, parameter.default


def plain(name: str, value: object) -> object:
    """Return a default of SB3 as the lab writes it."""
    if isinstance(value, type) and issubclass(value, nn.Module):
        return value.__name__.lower()
    return None if name in _AUTOMATIC and value == "auto" else value


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sb3_defaults_are_those_of_its_constructors(algorithm: str) -> None:
    sb3 = {name: plain(name, value) for name, value in arguments(algorithm)}
    if algorithm == "ARS":
        # Its linear policy, the usual one, has no activation; MlpPolicy has ReLU.
        sb3["activation_fn"] = "relu"
    ours = sb3_defaults(ALGORITHMS[algorithm])

    compared = {name: ours[name] for name in ours.keys() - _ONLY_HERE - _COMPARED_AS_NETWORKS}

    assert compared == {name: sb3[name] for name in compared}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_networks_of_sb3_defaults_have_the_sizes_of_sb3s(algorithm: str) -> None:
    kinds = ALGORITHMS[algorithm].action_kinds
    env_id = "CartPole-v1" if ActionKind.DISCRETE in kinds else "Pendulum-v1"
    request = RunRequest(env_id=env_id, algorithm=algorithm, preset=PresetName.SB3_DEFAULTS)
    config = RunConfig.from_request(request)

    ours = build_model(config.setup(), make_training_envs(config.setup(), 1), seed=0)
    model_class = IMPLEMENTATIONS[algorithm].sb3
    theirs = model_class(policy_name(algorithm), gym.make(env_id), **_small(model_class))  # type: ignore[call-arg]

    assert sizes(ours) == sizes(theirs)


def sizes(model: BaseAlgorithm) -> list[tuple[int, ...]]:
    """Return the shapes of a policy's weights."""
    return [tuple(weights.shape) for weights in model.policy.parameters()]


def _small(model_class: type[BaseAlgorithm]) -> dict[str, int]:
    """Return arguments that save memory and don't change networks."""
    names = inspect.signature(model_class.__init__).parameters
    return {"buffer_size": 100} if "buffer_size" in names else {}


def test_the_help_of_a_field_names_sb3s_default_exactly_where_it_differs() -> None:
    for spec in ALGORITHMS.values():
        theirs = sb3_defaults(spec)
        for parameter in spec.hyperparameters:
            value = theirs[parameter.name]
            words = f"SB3: {write_value(value, nothing='null')}."
            assert (words in parameter.description) == (value != parameter.default)
            assert ("SB3:" in parameter.description) == (value != parameter.default)
