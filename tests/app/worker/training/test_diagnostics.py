"""What diagnostics measure on real models."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models.models import build_model
from app.worker.training.diagnostics import PolicyDiagnostics
from app.worker.training.stopwatch import Stopwatch
from app.worker.training.update_statistics import UpdateStatistics

torch.set_num_threads(1)

Values = dict[str, Any]


def model_of(algorithm: str, env_id: str, engine: str = "auto", **values: Any) -> Any:
    request = RunRequest(
        env_id=env_id, algorithm=algorithm, n_envs=1, engine=engine, hyperparameters=values
    )
    setup = RunConfig.from_request(request).setup()
    return build_model(setup, make_training_envs(setup, 1), seed=1)


def trained(model: Any, steps: int) -> Any:
    return model.learn(steps, log_interval=None)


def measured(model: Any) -> Values:
    diagnostics = PolicyDiagnostics(model)
    diagnostics.measure_if_due(0.0)
    return diagnostics.take(updates=1)


@pytest.mark.parametrize("engine", ["sb3", "fast"])
@pytest.mark.parametrize(
    ("algorithm", "values"),
    [
        ("PPO", {"n_steps": 64, "batch_size": 32, "n_epochs": 1}),
        ("DQN", {"learning_starts": 40, "batch_size": 16}),
    ],
)
def test_gradient_norms_of_layers_are_those_of_the_gradients_if_nothing_is_clipped(
    engine: str, algorithm: str, values: Values
) -> None:
    model = model_of(algorithm, "CartPole-v1", engine, max_grad_norm=1e3, net_arch=[8], **values)
    statistics = UpdateStatistics(Stopwatch(0.0), 0)
    clock, expected = itertools.count(step=1_000), {}

    def on_gradient_step() -> None:
        statistics.on_gradient_step(next(clock))
        for name, parameter in model.policy.named_parameters():
            if name.endswith(".weight") and "target" not in name:
                expected[f"grad_norm/{name.removesuffix('.weight')}"] = float(parameter.grad.norm())

    statistics.begin(model, on_gradient_step)
    trained(model, 80)
    assert statistics._gradients is not None
    norms = statistics._gradients.take()

    total = norms.pop("grad_norm")
    assert norms == pytest.approx(expected, rel=1e-3)
    assert total >= math.sqrt(sum(norm**2 for norm in norms.values()))


@pytest.mark.parametrize(("bias", "share"), [(5.0, 0.0), (-8.0, 1.0)])
def test_only_elu_units_far_below_zero_are_dead(bias: float, share: float) -> None:
    model = model_of("PPO", "CartPole-v1", n_steps=64, batch_size=32, activation_fn="elu")
    trained(model, 64)
    with torch.no_grad():
        for name, parameter in model.policy.mlp_extractor.named_parameters():
            parameter.copy_(torch.full_like(parameter, bias if name.endswith("bias") else 0.0))

    assert measured(model)["dead_units"] == share


def test_the_bound_of_the_actions_is_not_a_unit_of_the_network() -> None:
    model = model_of("TD3", "Pendulum-v1", learning_starts=20, net_arch=[8])
    trained(model, 40)
    with torch.no_grad():
        model.actor.mu[-2].bias.fill_(100.0)
        model.actor.mu[0].bias.fill_(10.0)

    assert measured(model)["dead_units"] == 0.0


def test_the_entropy_of_legal_actions_is_measured_where_actions_are_masked() -> None:
    model = model_of("MaskablePPO", "Taxi-v4", n_steps=64, batch_size=32)
    trained(model, 64)

    legal = model.rollout_buffer.action_masks.sum(axis=-1)
    assert measured(model)["max_entropy"] == pytest.approx(np.log(legal).mean(), rel=1e-5)
    assert measured(model)["max_entropy"] < math.log(6)


def test_without_masks_no_such_entropy_is_reported() -> None:
    model = model_of("PPO", "Taxi-v4", n_steps=64, batch_size=32)
    trained(model, 64)

    assert "max_entropy" not in measured(model)
