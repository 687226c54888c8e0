"""Look into a model now and then: gradients, units that never fire, what it does and expects.

Nothing here draws a random number, so that a run is the same whether it was looked into or not.
"""

import math
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

_EVERY_S = 2.0
_SAMPLE = 256
_MOST_ACTIONS = 20
_SATURATED = 0.99
_EVEN = 0.9

Values = dict[str, Any]


class GradientWatch:
    """Measures how long gradients are, layer by layer, at a low rate."""

    def __init__(self, model: BaseAlgorithm) -> None:
        self._parameters = {
            name.removesuffix(".weight"): parameter
            for name, parameter in model.policy.named_parameters()
            if name.endswith(".weight") and "target" not in name
        }
        self._measured_at = -math.inf
        self.unclipped: float | None = None
        """How long all gradients together were before they were clipped, if they are."""
        self._norms: Values = {}
        self._note_clipping()

    def look(self, now: float) -> None:
        """Measure after a gradient step, if it is time."""
        if now - self._measured_at < _EVERY_S:
            return
        self._measured_at = now
        lengths = {
            name: float(parameter.grad.norm())
            for name, parameter in self._parameters.items()
            if parameter.grad is not None
        }
        together = math.sqrt(sum(length**2 for length in lengths.values()))
        total = together if self.unclipped is None else self.unclipped
        # SB3 has shortened them by now: give them back the length they had.
        scale = total / together if together else 1.0
        layers = {f"grad_norm/{name}": length * scale for name, length in lengths.items()}
        self._norms = {"grad_norm": total, **layers}

    def take(self) -> Values:
        """Return what was measured since the last call."""
        taken, self._norms = self._norms, {}
        return taken

    def _note_clipping(self) -> None:
        clip = torch.nn.utils.clip_grad_norm_

        def noting(*arguments: Any, **options: Any) -> torch.Tensor:
            length = clip(*arguments, **options)
            self.unclipped = float(length)
            return length

        torch.nn.utils.clip_grad_norm_ = noting


class EpochCount:
    """Counts how many epochs an update had, where `target_kl` may stop it early."""

    def __init__(self, model: BaseAlgorithm) -> None:
        self._model = model
        self._told: tuple[int, int] | None = None

    def take(self, updates: int) -> Values:
        """Return the mean since the last call; `updates` is how many there were so far."""
        if getattr(self._model, "target_kl", None) is None or not hasattr(self._model, "n_epochs"):
            return {}
        before, self._told = self._told, (self._model._n_updates, updates)
        if before is None or updates <= before[1]:
            return {}
        return {"epochs": (self._told[0] - before[0]) / (updates - before[1])}


class Insight:
    """Measures what the policy does and expects, and which units are dead, at a low rate."""

    def __init__(self, model: BaseAlgorithm) -> None:
        self._model = model
        self._epochs = EpochCount(model)
        self._measured_at = -math.inf
        self._taken: Values = {}

    def look(self, now: float) -> None:
        """Measure at the end of a rollout, if it is time."""
        if now - self._measured_at < _EVERY_S:
            return
        self._measured_at = now
        try:
            self._taken = self._look()
        except (ValueError, RuntimeError, TypeError, AttributeError, IndexError):
            # A model of another kind than these: no reason to end its training.
            traceback.print_exc()
            self._measured_at = math.inf

    def _look(self) -> Values:
        observed, actions = _recent(self._model)
        if observed is None:
            return {}
        return {
            **_observation_values(observed),
            **_action_values(actions, self._model.action_space),
            **_inner_values(self._model, observed),
        }

    def take(self, updates: int) -> Values:
        """Return what was measured since the last call; `updates` is how many there were."""
        taken, self._taken = self._taken, {}
        return taken | self._epochs.take(updates)


def describe_first_policy(model: BaseAlgorithm) -> tuple[str, bool] | None:
    """Say how even an untrained policy's choices are, and whether that is unusual."""
    space: Any = model.action_space
    policy: Any = model.policy
    is_recurrent = hasattr(policy, "lstm_actor")
    can_tell = hasattr(policy, "get_distribution") and isinstance(space, gym.spaces.Discrete)
    if not can_tell or space.n < 2 or is_recurrent or model._last_obs is None:
        return None
    with torch.no_grad():
        entropy = policy.get_distribution(policy.obs_to_tensor(model._last_obs)[0]).entropy()
    share = float(entropy.mean()) / math.log(space.n)
    text = f"The untrained policy's entropy is {share:.2f} of what even choices would have."
    if share >= _EVEN:
        return f"{text} It tries all actions alike.", False
    return f"{text} It prefers some actions before it has learned anything.", True


def _recent(model: BaseAlgorithm) -> tuple[Any, Any]:
    """Return the newest observations and actions that the model learns from."""
    if isinstance(model, OnPolicyAlgorithm):
        buffer: Any = model.rollout_buffer
        if not buffer.full or isinstance(buffer.observations, dict):
            return None, None
        newest = buffer.observations.reshape(-1, *_shape(model))[-_SAMPLE:]
        return newest, buffer.actions.reshape(-1, buffer.action_dim)[-_SAMPLE * 4 :]
    if isinstance(model, OffPolicyAlgorithm) and model.replay_buffer is not None:
        memory: Any = model.replay_buffer
        if memory.pos < 2 or isinstance(memory.observations, dict):
            return None, None
        first = max(0, memory.pos - _SAMPLE)
        observed = memory.observations[first : memory.pos]
        observed = observed.reshape(-1, *_shape(model))
        actions = memory.actions[first : memory.pos].reshape(-1, memory.action_dim)
        return memory._normalize_obs(observed, model._vec_normalize_env)[:_SAMPLE], actions
    return None, None


def _shape(model: BaseAlgorithm) -> tuple[int, ...]:
    return model.observation_space.shape or ()


def _observation_values(observed: Any) -> Values:  # noqa: ANN401 - an array
    """Return how large the numbers are that the networks see, but for pictures and states."""
    if observed.ndim != 2 or not np.issubdtype(observed.dtype, np.floating):
        return {}
    return {"observation_max": float(np.percentile(np.abs(observed), 99))}


def _action_values(actions: Any, space: gym.Space[Any]) -> Values:  # noqa: ANN401 - an array
    if isinstance(space, gym.spaces.Discrete):
        counts = np.bincount(actions.astype(int).ravel(), minlength=int(space.n))
        shares = counts / max(1, counts.sum())
        return {f"action_share/{n}": share for n, share in enumerate(shares[:_MOST_ACTIONS])}
    means, deviations = actions.mean(axis=0), actions.std(axis=0)
    found: Values = {}
    for n in range(min(len(means), _MOST_ACTIONS)):
        found |= {f"action_mean/{n}": means[n], f"action_std/{n}": deviations[n]}
    return found


def _inner_values(model: BaseAlgorithm, observed: Any) -> Values:  # noqa: ANN401 - an array
    policy: Any = model.policy
    if hasattr(policy, "lstm_actor"):
        return {}
    was_training = policy.training
    policy.set_training_mode(False)
    with torch.no_grad(), _listening(policy) as idle:
        inputs = policy.obs_to_tensor(observed)[0]
        values = _values(policy, inputs)
    policy.set_training_mode(was_training)
    found: Values = {} if values is None else _spread(values)
    return {**found, "dead_units": float(np.mean(np.concatenate(idle)))} if idle else found


def _spread(values: torch.Tensor) -> Values:
    return {
        "value_mean": float(values.mean()),
        "value_std": float(values.std()),
        "value_min": float(values.min()),
        "value_max": float(values.max()),
    }


def _values(policy: Any, inputs: Any) -> torch.Tensor | None:  # noqa: ANN401 - several classes
    """Return what the policy expects from each observation, and run all its layers."""
    if hasattr(policy, "get_distribution"):
        policy.get_distribution(inputs)
        return policy.predict_values(inputs)  # type: ignore[no-any-return]
    if hasattr(policy, "q_net"):
        return policy.q_net(inputs).max(dim=1).values  # type: ignore[no-any-return]
    if hasattr(policy, "quantile_net"):
        return policy.quantile_net(inputs).mean(dim=1).max(dim=1).values  # type: ignore[no-any-return]
    actor = policy.actor
    if hasattr(actor, "get_action_dist_params"):
        actor.get_action_dist_params(inputs)
    else:
        actor(inputs)
    return None


@contextmanager
def _listening(policy: torch.nn.Module) -> Iterator[list[Any]]:
    """Collect, for every non-linearity that runs, which of its units never say anything."""
    idle: list[Any] = []

    def hear(module: torch.nn.Module, _: object, output: torch.Tensor) -> None:
        flat = output.flatten(start_dim=1)
        if isinstance(module, torch.nn.ReLU):
            silent = (flat <= 0).all(dim=0)
        else:
            silent = (flat.abs() >= _SATURATED).all(dim=0)
        idle.append(silent.numpy())

    kinds = (torch.nn.ReLU, torch.nn.Tanh, torch.nn.ELU)
    hooks = [m.register_forward_hook(hear) for m in policy.modules() if isinstance(m, kinds)]
    try:
        yield idle
    finally:
        for hook in hooks:
            hook.remove()
