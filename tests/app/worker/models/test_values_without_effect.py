"""Hyperparameters have no effect exactly where their help says so."""

from typing import Any, Literal

import numpy as np
import pytest

from app.catalog.algorithms.catalogue import ALGORITHMS
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models.models import build_model

Engine = Literal["auto", "fast", "sb3"]


def weights(algorithm: str, engine: Engine, **values: Any) -> np.ndarray:
    """Return all weights, with those of target networks, after a short training."""
    short = {"learning_starts": 10, "batch_size": 8, "net_arch": [8, 8], "buffer_size": 100}
    request = RunRequest(
        env_id="Pendulum-v1",
        algorithm=algorithm,
        engine=engine,
        hyperparameters={**short, **values},
    )
    config = RunConfig.from_request(request)
    model = build_model(config.setup(), make_training_envs(config.setup(), 1), seed=1)
    model.learn(40)
    states = model.policy.state_dict().items()
    # log_std is a weight itself where it is not used.
    parts = [one.numpy().ravel() for name, one in states if not name.endswith("log_std")]
    return np.concatenate(parts)


def described(algorithm: str, name: str) -> str:
    """Return the help of a hyperparameter."""
    parameters = ALGORITHMS[algorithm].hyperparameters
    return next(one.description for one in parameters if one.name == name)


@pytest.mark.parametrize("engine", ["fast", "sb3"])
@pytest.mark.parametrize("algorithm", ["SAC", "TQC"])
def test_the_target_interval_has_no_effect_with_one_gradient_step(
    algorithm: str, engine: Engine
) -> None:
    each, rare = (weights(algorithm, engine, target_update_interval=one) for one in (1, 1_000))
    four = {"train_freq": 4, "gradient_steps": 4}
    each_of_four, rare_of_four = (
        weights(algorithm, engine, target_update_interval=one, **four) for one in (1, 1_000)
    )

    assert (each == rare).all()
    assert (each_of_four != rare_of_four).any()
    help_text = described(algorithm, "target_update_interval")
    assert "no effect with one gradient step" in help_text


@pytest.mark.parametrize("algorithm", ["SAC", "TQC", "CrossQ"])
def test_the_initial_deviation_has_an_effect_only_with_gsde(algorithm: str) -> None:
    small, large = (weights(algorithm, "auto", log_std_init=one) for one in (-3.0, 2.0))
    small_sde, large_sde = (
        weights(algorithm, "sb3", log_std_init=one, use_sde=True) for one in (-3.0, 2.0)
    )

    assert (small == large).all()
    assert (small_sde != large_sde).any()
    assert described(algorithm, "log_std_init").startswith("With use_sde only")


@pytest.mark.parametrize("algorithm", ["DQN", "SAC", "TD3", "TQC", "CrossQ", "QRDQN"])
def test_the_update_frequency_is_described_per_environment(algorithm: str) -> None:
    assert "Steps of each parallel environment" in described(algorithm, "train_freq")
