"""What SAC and TQC share: a policy that is paid for being unpredictable."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import Layer, linear_layers
from app.worker.fast.model import tiny_is_zero
from app.worker.fast.observations import encoder
from app.worker.fast.off_policy.continuous import FastContinuous
from app.worker.fast.off_policy.critics import Critics, beside
from app.worker.fast.off_policy.replay import Memories, draw
from app.worker.fast.off_policy.squashed import SquashedActions
from app.worker.fast.off_policy.stacked import StackedNetwork, wide_activation
from app.worker.fast.optimizers import FlatOptimizer, flat_optimizer


class SoftNetworks:
    """Runs the policy and the critics of an SB3 policy on its own weights."""

    def __init__(self, policy: Any) -> None:  # noqa: ANN401 - SAC's or TQC's
        self.encode = encoder(policy.observation_space)
        activation = wide_activation(type(policy.activation_fn()))
        self.critics = Critics(policy, activation)
        actor = policy.actor
        weights = FlatParameters(actor.parameters())
        hidden = [Layer.adopt(weights, layer) for layer in linear_layers(actor.latent_pi)]
        head = Layer.adopt(weights, actor.mu, actor.log_std).joined()
        self._size = actor.mu.out_features
        self.actor = StackedNetwork([*hidden, head], activation)
        self.actor_optimizer: FlatOptimizer = flat_optimizer(actor.optimizer, weights)

    def choose(self, observations: Array) -> SquashedActions:
        """Return what the policy does, by chance."""
        return SquashedActions(self.actor.run(observations)[0], self._noise(observations))

    def consider(self, observations: Array) -> SquashedActions:
        """Return what the policy does, by chance, and keep what its gradients need."""
        return SquashedActions(self.actor.forward(observations)[0], self._noise(observations))

    def _noise(self, observations: Array) -> Array:
        # Torch's generator, asked as SB3 asks it: the same seed gives the same noise.
        noise: Array = torch.randn(observations.shape[1], self._size).numpy().T
        return noise


class Temperature:
    """How much being unpredictable is worth, found by itself."""

    def __init__(self, log_value: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        weights = FlatParameters([log_value])
        (self._log,), (self._gradient,) = weights.take(log_value)
        self._optimizer = flat_optimizer(optimizer, weights)

    @property
    def value(self) -> float:
        """What it is now."""
        return float(np.exp(self._log[0]))

    def adjust(self, surprise: float) -> float:
        """Move it; return the loss before, given how much less random the policy is than wanted."""
        loss = -float(self._log[0]) * surprise
        self._gradient[0] = -surprise
        self._optimizer.step(math.inf)
        return loss


@dataclass(slots=True)
class _Findings:
    """What is logged of a round: one number per gradient step."""

    ent_coef: list[float] = field(default_factory=list)
    ent_coef_loss: list[float] = field(default_factory=list)
    actor_loss: list[float] = field(default_factory=list)
    critic_loss: list[float] = field(default_factory=list)


class FastSoft(FastContinuous[SoftNetworks]):
    """Learns as SAC and TQC do; what critics aim at and say of the policy is their own."""

    target_entropy: Any
    target_update_interval: int
    ent_coef_optimizer: torch.optim.Adam | None
    ent_coef_tensor: torch.Tensor
    _temperature: Temperature | None = None

    def _adopt_network(self) -> SoftNetworks:
        self._temperature = None
        if self.ent_coef_optimizer is not None:
            log_value: Any = self.log_ent_coef  # type: ignore[attr-defined]  # SAC's and TQC's
            self._temperature = Temperature(log_value, self.ent_coef_optimizer)
        return SoftNetworks(self.policy)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_temperature"]

    def _choose(self, observed: npt.NDArray[Any]) -> Array:
        return self.network.choose(self.network.encode(observed)).values

    @tiny_is_zero()
    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Learn from past steps so many times."""
        network, found = self.network, _Findings()
        policy: Any = self.policy
        optimizers = [policy.actor.optimizer, policy.critic.optimizer]
        if self.ent_coef_optimizer is not None:
            optimizers.append(self.ent_coef_optimizer)
        self._update_learning_rate(optimizers)
        assert self.replay_buffer is not None
        for step in range(gradient_steps):
            drawn = draw(self.replay_buffer, batch_size, self.gamma, self._vec_normalize_env)
            self._learn(drawn, found)
            if step % self.target_update_interval == 0:
                network.critics.follow(self.tau)
            if self.after_gradient_step is not None:
                self.after_gradient_step(None)
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        for name in _Findings.__slots__:
            if values := getattr(found, name):
                self.logger.record(f"train/{name}", np.mean(values))

    def _learn(self, drawn: Memories, found: _Findings) -> None:
        """Do one gradient step."""
        network = self.network
        observed = network.encode(drawn.observations)
        actions = network.consider(observed)
        log_probs = actions.log_probs()
        worth = self._worth_of_chance(log_probs, found)
        found.critic_loss.append(self._learn_values(drawn, observed, worth))
        of_actions, values = self._judge(beside(observed, actions.values), len(observed))
        share = np.float32(worth / len(log_probs))
        network.actor.backward(actions.slopes(of_actions, share)[None])
        network.actor_optimizer.step(math.inf)
        found.actor_loss.append(float(np.mean(np.float32(worth) * log_probs - values)))

    def _worth_of_chance(self, log_probs: Array, found: _Findings) -> float:
        """Return what chance is worth in this step, and adjust it for the next."""
        if self.ent_coef_optimizer is None or self._temperature is None:
            worth = float(self.ent_coef_tensor)
        else:
            worth = self._temperature.value
            surprise = float(np.mean(log_probs + np.float32(self.target_entropy)))
            found.ent_coef_loss.append(self._temperature.adjust(surprise))
        found.ent_coef.append(worth)
        return worth

    def _learn_values(self, drawn: Memories, observed: Array, worth: float) -> float:
        """Let the critics learn; return their loss."""
        network, critics = self.network, self.network.critics
        observed_next = network.encode(drawn.next_observations)
        actions = network.choose(observed_next)
        expected = self._expect(critics.target.run(beside(observed_next, actions.values)))
        expected -= np.float32(worth) * actions.log_probs()
        aims = drawn.rewards + drawn.discounts * expected
        outputs = critics.online.forward(beside(observed, drawn.actions.T))
        slopes, loss = self._compare(outputs, aims)
        critics.online.backward(slopes)
        critics.optimizer.step(math.inf)
        return loss

    def _expect(self, outputs: Array) -> Array:
        """Return what is expected from here on, given what the copies of all critics say."""
        raise NotImplementedError

    def _compare(self, outputs: Array, aims: Array) -> tuple[Array, float]:
        """Return how the loss depends on the critics' outputs, and the loss."""
        raise NotImplementedError

    def _judge(self, inputs: Array, height: int) -> tuple[Array, Array]:
        """Return how the loss depends on the policy's actions, and what they are worth.

        Actions are below the first `height` rows of the inputs.
        """
        raise NotImplementedError
