"""Map the names of Stable-Baselines3's logger to our metric names."""

import math
from collections.abc import Mapping
from typing import Any

from app.protocol import messages

_NAMES = {
    "train/loss": "loss",
    "train/policy_gradient_loss": "policy_loss",
    "train/value_loss": "value_loss",
    "train/entropy_loss": "entropy_loss",
    "train/approx_kl": "approx_kl",
    "train/clip_fraction": "clip_fraction",
    "train/clip_range": "clip_range",
    "train/explained_variance": "explained_variance",
    "train/std": "std",
    "train/learning_rate": "learning_rate",
    "train/actor_loss": "actor_loss",
    "train/critic_loss": "critic_loss",
    "train/ent_coef": "ent_coef",
    "train/ent_coef_loss": "ent_coef_loss",
    "train/policy_objective": "policy_objective",
    "train/kl_divergence_loss": "kl_divergence",
    "train/policy_loss": "policy_loss",
    "train/delta_std": "delta_std",
    "train/step_size": "step_size",
    "rollout/return_std": "return_std",
    "rollout/exploration_rate": "exploration_rate",
}
_SUBSTITUTES_FOR_LOSS = ("critic_loss", "value_loss")
"""Used as `loss` for algorithms that don't log a total loss."""


def update_values(logged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of an update."""
    values = {ours: logged[name] for name, ours in _NAMES.items() if name in logged}
    substitute = next((values[name] for name in _SUBSTITUTES_FOR_LOSS if name in values), None)
    if substitute is not None:
        values.setdefault("loss", substitute)
    if "entropy_loss" in values:
        values["entropy"] = -values["entropy_loss"]
    return values


def finite(value: Any) -> messages.Number:  # noqa: ANN401 - a number of any library
    """Convert a number of NumPy or torch to a Python number, or to None if it isn't finite."""
    if value is None:
        return None
    number = value.item() if hasattr(value, "item") else value
    return number if math.isfinite(number) else None
