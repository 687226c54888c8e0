"""Twin Delayed DDPG that acts and learns in NumPy."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3 import TD3
from stable_baselines3.td3.policies import Actor, TD3Policy

from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import Layer, linear_layers
from app.worker.fast.observations import encoder
from app.worker.fast.off_policy.algorithm import Losses
from app.worker.fast.off_policy.continuous import FastContinuous
from app.worker.fast.off_policy.critics import critic_inputs, stacked_critics
from app.worker.fast.off_policy.online_and_target import OnlineAndTarget
from app.worker.fast.off_policy.replay_buffer import Batch
from app.worker.fast.off_policy.stacked import StackedNetwork, torch_activation


class TD3Networks:
    """The actor, the critics and their target networks, on SB3's own weights."""

    def __init__(self, policy: TD3Policy) -> None:
        self.encode = encoder(policy.observation_space)
        self.critics = stacked_critics(policy)
        self.first_critic = self.critics.online[0]
        self.actor = _make_actor(policy)

    def update_targets(self, tau: float) -> None:
        """Move the target networks' weights towards the online networks'."""
        self.critics.update_target(tau)
        self.actor.update_target(tau)


def _make_actor(policy: TD3Policy) -> OnlineAndTarget[StackedNetwork]:
    activation = torch_activation(policy)

    def make_network(weights: FlatParameters, actor: Actor) -> StackedNetwork:
        assert isinstance(actor.mu, torch.nn.Sequential)
        layers = [Layer.from_torch(weights, layer) for layer in linear_layers(actor.mu)]
        return StackedNetwork(layers, activation)

    return OnlineAndTarget(make_network, policy.actor, policy.actor_target, policy.actor.optimizer)


class FastTD3(FastContinuous[TD3Networks], TD3):
    """SB3's TD3, computed by the fast engine."""

    def _make_network(self) -> TD3Networks:
        return TD3Networks(self.policy)

    def _policy_actions(self, observations: npt.NDArray[Any]) -> Array:
        inputs = self.network.encode(observations)
        actions: Array = np.tanh(self.network.actor.online.forward(inputs, keep=False)[0])
        return actions

    def _learn(self, batch: Batch, step: int) -> tuple[Losses, None]:  # noqa: ARG002 - `_n_updates` counts
        observations = self.network.encode(batch.observations)
        losses = {"critic_loss": self._train_critics(batch, observations)}
        if self._n_updates % self.policy_delay == 0:
            losses["actor_loss"] = self._train_actor(observations)
            self.network.update_targets(self.tau)
        return losses, None

    def _train_critics(self, batch: Batch, observations: Array) -> float:
        """Update the critics; return their loss."""
        network, critics, size = self.network, self.network.critics, len(batch.rewards)
        next_observations = network.encode(batch.next_observations)
        actions = np.tanh(network.actor.target.forward(next_observations, keep=False)[0])
        # From torch's generator, as in SB3: the same seed gives the same noise.
        noise = torch.empty(batch.actions.shape).normal_(0, self.target_policy_noise)
        actions += noise.clamp_(-self.target_noise_clip, self.target_noise_clip).numpy().T
        np.clip(actions, -1.0, 1.0, out=actions)
        next_values = critics.target.forward(critic_inputs(next_observations, actions), keep=False)
        targets = batch.rewards + batch.discounts * np.minimum.reduce(next_values[:, 0])
        errors = critics.online.forward(critic_inputs(observations, batch.actions.T)) - targets
        critics.online.backward(errors * np.float32(2 / size))
        critics.optimizer.step(math.inf)
        return float(np.dot(errors.ravel(), errors.ravel())) / size

    def _train_actor(self, observations: Array) -> float:
        """Update the actor to maximize the first critic's values; return its loss."""
        network, obs_size = self.network, len(observations)
        actions: Array = np.tanh(network.actor.online.forward(observations)[0])
        values = network.first_critic.forward(critic_inputs(observations, actions))
        gradients = np.full_like(values, -1 / values.size)
        action_gradients = network.first_critic.input_gradients(gradients, slice(obs_size, None))
        network.actor.online.backward((action_gradients * (1 - actions * actions))[None])
        network.actor.optimizer.step(math.inf)
        return -float(np.mean(values))
