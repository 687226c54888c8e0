"""The effect of `apply_change` on real models."""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from typing import Any

import pytest
import torch

from app.catalog.algorithms import get_algorithm
from app.core import InputError
from app.protocol import messages
from app.protocol.schedule import Schedule
from app.run_config import read_change
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models.models import build_model
from app.worker.training.live_changes import apply_change, optimizers

torch.set_num_threads(1)


def model_of(algorithm: str, env_id: str = "Pendulum-v1", **values: Any) -> Any:
    request = RunRequest(
        env_id=env_id,
        algorithm=algorithm,
        hyperparameters={"net_arch": [8], **values},
    )
    setup = RunConfig.from_request(request).setup()
    return build_model(setup, make_training_envs(setup, 1), seed=1)


@pytest.mark.parametrize("algorithm", ["PPO", "A2C", "SAC", "TD3", "TQC"])
def test_a_learning_rate_change_reaches_schedule_and_optimizers(algorithm: str) -> None:
    model = model_of(algorithm)

    apply_change(model, messages.Change(learning_rate=0.123))

    assert model.lr_schedule(0.5) == 0.123
    rates = {group["lr"] for one in optimizers(model) for group in one.param_groups}
    assert rates == {0.123}


def test_a_new_schedule_starts_at_the_progress_of_the_run() -> None:
    model = model_of("PPO")
    model._current_progress_remaining = 0.25

    apply_change(model, messages.Change(learning_rate=Schedule(((0.0, 1.0), (1.0, 0.0)))))

    assert model.policy.optimizer.param_groups[0]["lr"] == pytest.approx(0.25)


def test_a_learned_entropy_coefficient_becomes_fixed() -> None:
    model = model_of("SAC", learning_starts=0, batch_size=16)
    model.learn(30, log_interval=None)
    assert model.ent_coef_optimizer is not None

    apply_change(model, messages.Change(ent_coef=0.5))
    model.learn(10, log_interval=None, reset_num_timesteps=False)

    assert model.ent_coef_optimizer is None
    assert float(model.ent_coef_tensor) == 0.5
    assert model.logger.name_to_value["train/ent_coef"] == 0.5


@pytest.mark.parametrize("engine", ["sb3", "fast"])
@pytest.mark.parametrize("algorithm", ["SAC", "TQC"])
def test_the_entropy_coefficient_can_be_tuned_from_a_given_value(
    algorithm: str, engine: str
) -> None:
    values = {"ent_coef": "auto_0.1", "learning_starts": 0, "batch_size": 16, "net_arch": [8]}
    request = RunRequest(
        env_id="Pendulum-v1", algorithm=algorithm, hyperparameters=values, engine=engine
    )
    setup = RunConfig.from_request(request).setup()
    model: Any = build_model(setup, make_training_envs(setup, 1), seed=1)

    first = float(model.log_ent_coef.detach().exp())
    model.learn(20, log_interval=None)

    assert first == pytest.approx(0.1)
    assert 0.05 < float(model.log_ent_coef.detach().exp()) < 0.1


def test_tuning_cannot_begin_while_a_run_trains() -> None:
    with pytest.raises(InputError, match="Give a number"):
        read_change(get_algorithm("SAC"), {"ent_coef": "auto_0.1"})


@pytest.mark.parametrize("value", ["auto_0", "auto_", "auto_-1", "auto_99", "auto_x", "high"])
def test_a_value_from_which_nothing_can_be_tuned_is_refused(value: str) -> None:
    with pytest.raises(InputError, match=r"auto_0\.1 to tune it from 0\.1 on"):
        model_of("SAC", ent_coef=value)


def test_a_changed_clip_range_is_a_schedule_again() -> None:
    model = model_of("PPO")

    apply_change(model, messages.Change(clip_range=0.4))

    assert model.clip_range(1.0) == 0.4
