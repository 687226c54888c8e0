"""Change hyperparameters of a model during training."""

from typing import Any

import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.save_util import recursive_getattr
from stable_baselines3.common.utils import FloatSchedule, update_learning_rate

from app.protocol import messages
from app.worker.models.models import schedule


def apply_change(model: BaseAlgorithm, change: messages.Change) -> None:
    """Apply the given hyperparameters; the training callback handles the budget."""
    if change.learning_rate is not None:
        model.learning_rate = schedule(change.learning_rate)
        # SB3 reads the schedule at every update; update the optimizers at once.
        model._setup_lr_schedule()
        now = model.lr_schedule(model._current_progress_remaining)
        for optimizer in optimizers(model):
            update_learning_rate(optimizer, now)
    if change.ent_coef is not None:
        _set_entropy(model, change.ent_coef)
    if change.clip_range is not None:
        model.clip_range = FloatSchedule(schedule(change.clip_range))  # type: ignore[attr-defined]


def optimizers(model: BaseAlgorithm) -> list[torch.optim.Optimizer]:
    """Return the optimizers of a model; gradient-free algorithms have none."""
    names = [name for name in model._get_torch_save_params()[0] if name.endswith("optimizer")]
    return [recursive_getattr(model, name) for name in names]


def _set_entropy(model: Any, value: float) -> None:  # noqa: ANN401 - several classes of SB3
    model.ent_coef = value
    if hasattr(model, "ent_coef_optimizer"):
        # It was tuned automatically so far; from now on it is fixed.
        model.ent_coef_optimizer = None
        model.ent_coef_tensor = torch.tensor(float(value))
