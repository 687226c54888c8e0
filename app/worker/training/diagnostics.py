"""Measure a model at a low rate: gradient norms, dead units, actions and value estimates.

Nothing here draws random numbers, so that measuring doesn't change a run.
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
_MAX_ACTIONS = 20
_SATURATED_FROM = 0.99
_UNIFORM_FROM = 0.9

Values = dict[str, Any]


class GradientNorms:
    """Measures the gradient norm of each layer at a low rate."""

    def __init__(self, model: BaseAlgorithm) -> None:
        self._parameters = {
            name: parameter
            for name, parameter in model.policy.named_parameters()
            if "target" not in name
        }
        self._measured_at = -math.inf
        self.unclipped: float | None = None
        """The norm of all gradients before clipping, if they are clipped."""
        self._norms: Values = {}
        self._intercept_clipping()

    def measure_if_due(self, now: float) -> None:
        """Measure after a gradient step, if it is time."""
        if now - self._measured_at < _EVERY_S:
            return
        self._measured_at = now
        norms = {
            name: float(parameter.grad.norm())
            for name, parameter in self._parameters.items()
            if parameter.grad is not None
        }
        # Of all parameters, because SB3 clips their common norm: biases and log_std included.
        clipped = math.sqrt(sum(norm**2 for norm in norms.values()))
        total = clipped if self.unclipped is None else self.unclipped
        # SB3 has clipped the gradients by now: scale the norms back.
        scale = total / clipped if clipped else 1.0
        layers = {
            f"grad_norm/{name.removesuffix('.weight')}": norm * scale
            for name, norm in norms.items()
            if name.endswith(".weight")
        }
        self._norms = {"grad_norm": total, **layers}

    def take(self) -> Values:
        """Return the values measured since the last call."""
        taken, self._norms = self._norms, {}
        return taken

    def _intercept_clipping(self) -> None:
        clip = torch.nn.utils.clip_grad_norm_

        def clip_and_note(*arguments: Any, **options: Any) -> torch.Tensor:
            norm = clip(*arguments, **options)
            self.unclipped = float(norm)
            return norm

        torch.nn.utils.clip_grad_norm_ = clip_and_note


class EpochCount:
    """Counts the epochs per update where `target_kl` may stop an update early."""

    def __init__(self, model: BaseAlgorithm) -> None:
        self._model = model
        self._reported: tuple[int, int] | None = None

    def take(self, updates: int) -> Values:
        """Return the mean since the last call; `updates` is the total number of updates."""
        if getattr(self._model, "target_kl", None) is None or not hasattr(self._model, "n_epochs"):
            return {}
        before, self._reported = self._reported, (self._model._n_updates, updates)
        if before is None or updates <= before[1]:
            return {}
        return {"epochs": (self._reported[0] - before[0]) / (updates - before[1])}


class PolicyDiagnostics:
    """Measures observations, actions, value estimates and dead units at a low rate."""

    def __init__(self, model: BaseAlgorithm) -> None:
        self._model = model
        self._epochs = EpochCount(model)
        self._measured_at = -math.inf
        self._values: Values = {}

    def measure_if_due(self, now: float) -> None:
        """Measure at the end of a rollout, if it is time."""
        if now - self._measured_at < _EVERY_S:
            return
        self._measured_at = now
        try:
            self._values = self._measure()
        except (ValueError, RuntimeError, TypeError, AttributeError, IndexError):
            # An unsupported kind of model: that must not end its training.
            traceback.print_exc()
            self._measured_at = math.inf

    def _measure(self) -> Values:
        observations, actions = _recent(self._model)
        if observations is None:
            return _mask_values(self._model)
        return {
            **_mask_values(self._model),
            **_observation_values(observations),
            **_action_values(actions, self._model.action_space),
            **_network_values(self._model, observations),
        }

    def take(self, updates: int) -> Values:
        """Return the values since the last call; `updates` is the total number of updates."""
        taken, self._values = self._values, {}
        return taken | self._epochs.take(updates)


def describe_first_policy(model: BaseAlgorithm) -> tuple[str, bool] | None:
    """Return a sentence on how uniform the untrained policy is, and whether that is unusual."""
    space: Any = model.action_space
    policy: Any = model.policy
    is_recurrent = hasattr(policy, "lstm_actor")
    has_probabilities = hasattr(policy, "get_distribution") and isinstance(
        space, gym.spaces.Discrete
    )
    if not has_probabilities or space.n < 2 or is_recurrent or model._last_obs is None:
        return None
    with torch.no_grad():
        entropy = policy.get_distribution(policy.obs_to_tensor(model._last_obs)[0]).entropy()
    share = float(entropy.mean()) / math.log(space.n)
    entropy_text = f"(entropy {share:.2f} of maximum)"
    if share >= _UNIFORM_FROM:
        return f"Initial policy is uniform {entropy_text}.", False
    return f"Initial policy is not uniform {entropy_text}: it prefers some actions.", True


def _recent(model: BaseAlgorithm) -> tuple[Any, Any]:
    """Return the newest observations and actions in the model's buffer."""
    if isinstance(model, OnPolicyAlgorithm):
        buffer: Any = model.rollout_buffer
        if not buffer.full or isinstance(buffer.observations, dict):
            return None, None
        newest = buffer.observations.reshape(-1, *_shape(model))[-_SAMPLE:]
        return newest, buffer.actions.reshape(-1, buffer.action_dim)[-_SAMPLE * 4 :]
    if isinstance(model, OffPolicyAlgorithm) and model.replay_buffer is not None:
        replay: Any = model.replay_buffer
        if replay.pos < 2 or isinstance(replay.observations, dict):
            return None, None
        first = max(0, replay.pos - _SAMPLE)
        newest = replay.observations[first : replay.pos].reshape(-1, *_shape(model))
        actions = replay.actions[first : replay.pos].reshape(-1, replay.action_dim)
        return replay._normalize_obs(newest, model._vec_normalize_env)[:_SAMPLE], actions
    return None, None


def _shape(model: BaseAlgorithm) -> tuple[int, ...]:
    return model.observation_space.shape or ()


def _observation_values(observations: Any) -> Values:  # noqa: ANN401 - an array
    """Return the magnitude of the networks' inputs, unless these are images or discrete states."""
    if observations.ndim != 2 or not np.issubdtype(observations.dtype, np.floating):
        return {}
    return {"observation_max": float(np.percentile(np.abs(observations), 99))}


def _mask_values(model: BaseAlgorithm) -> Values:
    """Return the entropy of a uniform choice among the legal actions, if there are masks."""
    masks = getattr(getattr(model, "rollout_buffer", None), "action_masks", None)
    space = model.action_space
    if masks is None or not isinstance(space, gym.spaces.Discrete):
        return {}
    legal = masks.reshape(-1, int(space.n))[-_SAMPLE:].sum(axis=1)
    return {"max_entropy": float(np.log(np.maximum(legal, 1)).mean())}


def _action_values(actions: Any, space: gym.Space[Any]) -> Values:  # noqa: ANN401 - an array
    if isinstance(space, gym.spaces.Discrete):
        counts = np.bincount(actions.astype(int).ravel(), minlength=int(space.n))
        shares = counts / max(1, counts.sum())
        return {f"action_share/{n}": share for n, share in enumerate(shares[:_MAX_ACTIONS])}
    means, deviations = actions.mean(axis=0), actions.std(axis=0)
    found: Values = {}
    for n in range(min(len(means), _MAX_ACTIONS)):
        found |= {f"action_mean/{n}": means[n], f"action_std/{n}": deviations[n]}
    return found


def _network_values(model: BaseAlgorithm, observations: Any) -> Values:  # noqa: ANN401 - an array
    policy: Any = model.policy
    if hasattr(policy, "lstm_actor"):
        return {}
    was_training = policy.training
    policy.set_training_mode(False)
    with torch.no_grad(), _dead_unit_hooks(policy) as dead:
        inputs = policy.obs_to_tensor(observations)[0]
        values = _value_estimates(policy, inputs)
    policy.set_training_mode(was_training)
    found: Values = {} if values is None else _value_statistics(values)
    return {**found, "dead_units": float(np.mean(np.concatenate(dead)))} if dead else found


def _value_statistics(values: torch.Tensor) -> Values:
    return {
        "value_mean": float(values.mean()),
        "value_std": float(values.std()),
        "value_min": float(values.min()),
        "value_max": float(values.max()),
    }


def _value_estimates(policy: Any, inputs: Any) -> torch.Tensor | None:  # noqa: ANN401 - several classes
    """Run all layers of the policy; return its value estimate of each observation, if any."""
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
def _dead_unit_hooks(policy: torch.nn.Module) -> Iterator[list[Any]]:
    """Collect for every activation function that runs which of its units are dead."""
    dead: list[Any] = []

    def on_forward(module: torch.nn.Module, _: object, output: torch.Tensor) -> None:
        flat = output.flatten(start_dim=1)
        if isinstance(module, torch.nn.ReLU):
            is_dead = flat <= 0
        elif isinstance(module, torch.nn.ELU):
            # It is linear above zero, and constant only far below.
            is_dead = flat <= -_SATURATED_FROM
        else:
            is_dead = flat.abs() >= _SATURATED_FROM
        dead.append(is_dead.all(dim=0).numpy())

    hooks = [unit.register_forward_hook(on_forward) for unit in _activations(policy)]
    try:
        yield dead
    finally:
        for hook in hooks:
            hook.remove()


def _activations(policy: torch.nn.Module) -> list[torch.nn.Module]:
    """Return the activation functions of hidden layers."""
    kinds = (torch.nn.ReLU, torch.nn.Tanh, torch.nn.ELU)
    # TD3's network of actions ends with a tanh, which bounds the actions and is no unit.
    actions: Any = getattr(getattr(policy, "actor", None), "mu", None)
    bound = actions[-1] if isinstance(actions, torch.nn.Sequential) else None
    return [one for one in policy.modules() if isinstance(one, kinds) and one is not bound]
