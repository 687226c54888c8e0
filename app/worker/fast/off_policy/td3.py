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
from app.worker.fast.model import tiny_is_zero
from app.worker.fast.observations import encoder
from app.worker.fast.off_policy.continuous import FastContinuous
from app.worker.fast.off_policy.critics import Critics, beside
from app.worker.fast.off_policy.replay import Memories, draw
from app.worker.fast.off_policy.stacked import StackedNetwork, WideActivation, wide_activation
from app.worker.fast.optimizers import FlatOptimizer, flat_optimizer


class TD3Networks:
    """Runs the policy, the critics and the copies of both on SB3's own weights."""

    def __init__(self, policy: TD3Policy) -> None:
        self.encode = encoder(policy.observation_space)
        activation = wide_activation(type(policy.activation_fn()))
        self.critics = Critics(policy, activation)
        self.first_critic = self.critics.online[0]
        self._weights, self.actor = _adopt(policy.actor, activation)
        self._target_weights, self.actor_target = _adopt(policy.actor_target, activation)
        self.actor_optimizer: FlatOptimizer = flat_optimizer(policy.actor.optimizer, self._weights)

    def follow(self, tau: float) -> None:
        """Let the copies take over so much."""
        self.critics.follow(tau)
        self._target_weights.follow(self._weights, tau)


def _adopt(actor: Actor, activation: WideActivation) -> tuple[FlatParameters, StackedNetwork]:
    weights = FlatParameters(actor.parameters())
    assert isinstance(actor.mu, torch.nn.Sequential)
    layers = [Layer.adopt(weights, layer) for layer in linear_layers(actor.mu)]
    return weights, StackedNetwork(layers, activation)


class FastTD3(FastContinuous[TD3Networks], TD3):
    """SB3's TD3, and nothing of it different but the time it takes."""

    def _adopt_network(self) -> TD3Networks:
        return TD3Networks(self.policy)

    def _choose(self, observed: npt.NDArray[Any]) -> Array:
        actions: Array = np.tanh(self.network.actor.run(self.network.encode(observed))[0])
        return actions

    @tiny_is_zero()
    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Learn from past steps so many times."""
        self._update_learning_rate([self.actor.optimizer, self.critic.optimizer])
        assert self.replay_buffer is not None
        actor_losses, critic_losses = [], []
        for _ in range(gradient_steps):
            self._n_updates += 1
            drawn = draw(self.replay_buffer, batch_size, self.gamma, self._vec_normalize_env)
            observed = self.network.encode(drawn.observations)
            critic_losses.append(self._learn_values(drawn, observed))
            if self._n_updates % self.policy_delay == 0:
                actor_losses.append(self._learn_actions(observed))
                self.network.follow(self.tau)
            if self.after_gradient_step is not None:
                self.after_gradient_step(None)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        if actor_losses:
            self.logger.record("train/actor_loss", np.mean(actor_losses))
        self.logger.record("train/critic_loss", np.mean(critic_losses))

    def _learn_values(self, drawn: Memories, observed: Array) -> float:
        """Let the critics learn; return their loss."""
        critics, size = self.network.critics, len(drawn.rewards)
        observed_next = self.network.encode(drawn.next_observations)
        actions = np.tanh(self.network.actor_target.run(observed_next)[0])
        # Torch's generator, asked as SB3 asks it: the same seed gives the same noise.
        noise = torch.empty(drawn.actions.shape).normal_(0, self.target_policy_noise)
        actions += noise.clamp_(-self.target_noise_clip, self.target_noise_clip).numpy().T
        np.clip(actions, -1.0, 1.0, out=actions)
        careful = np.minimum.reduce(critics.target.run(beside(observed_next, actions))[:, 0])
        aims = drawn.rewards + drawn.discounts * careful
        errors = critics.online.forward(beside(observed, drawn.actions.T)) - aims
        critics.online.backward(errors * np.float32(2 / size))
        critics.optimizer.step(math.inf)
        return float(np.dot(errors.ravel(), errors.ravel())) / size

    def _learn_actions(self, observed: Array) -> float:
        """Let the policy learn what the first critic likes; return its loss."""
        network, height = self.network, len(observed)
        actions: Array = np.tanh(network.actor.forward(observed)[0])
        values = network.first_critic.forward(beside(observed, actions))
        slopes = np.full_like(values, -1 / values.size)
        of_actions = network.first_critic.pull_back(slopes, slice(height, None))
        network.actor.backward((of_actions * (1 - actions * actions))[None])
        network.actor_optimizer.step(math.inf)
        return -float(np.mean(values))
