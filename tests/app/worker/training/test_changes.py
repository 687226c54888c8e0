"""The effect of `apply_change` on real models."""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from typing import Any

import pytest
import torch

from app.protocol import messages
from app.protocol.schedule import Schedule
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


def test_a_changed_clip_range_is_a_schedule_again() -> None:
    model = model_of("PPO")

    apply_change(model, messages.Change(clip_range=0.4))

    assert model.clip_range(1.0) == 0.4
