"""The base class of SAC and TQC, whose actors maximize return and entropy."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import Layer, linear_layers
from app.worker.fast.observations import encoder
from app.worker.fast.off_policy.algorithm import Losses
from app.worker.fast.off_policy.continuous import FastContinuous
from app.worker.fast.off_policy.critics import critic_inputs, stacked_critics
from app.worker.fast.off_policy.replay_buffer import Batch
from app.worker.fast.off_policy.squashed import SquashedActions
from app.worker.fast.off_policy.stacked import StackedNetwork, torch_activation
from app.worker.fast.optimizers import flat_optimizer


class SoftNetworks:
    """The actor and the critics of an SB3 policy, on the policy's own weights."""

    def __init__(self, policy: Any) -> None:  # noqa: ANN401 - SAC's or TQC's
        self.encode = encoder(policy.observation_space)
        self.critics = stacked_critics(policy)
        actor = policy.actor
        weights = FlatParameters(actor.parameters())
        hidden = [Layer.from_torch(weights, layer) for layer in linear_layers(actor.latent_pi)]
        head = Layer.from_torch(weights, actor.mu, actor.log_std).joined()
        self._size = actor.mu.out_features
        self.actor = StackedNetwork([*hidden, head], torch_activation(policy))
        self.actor_optimizer = flat_optimizer(actor.optimizer, weights)

    def sample_actions(self, observations: Array, *, keep: bool = False) -> SquashedActions:
        """Sample actions of the policy; `keep` intermediate outputs for the actor's gradients."""
        outputs = self.actor.forward(observations, keep=keep)[0]
        # From torch's generator, as in SB3: the same seed gives the same noise.
        noise: Array = torch.randn(observations.shape[1], self._size).numpy().T
        return SquashedActions(outputs, noise)


class EntropyCoefficient:
    """The learned entropy coefficient."""

    def __init__(self, log_value: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        weights = FlatParameters([log_value])
        (self._log,), (self._gradient,) = weights.register(log_value)
        self._optimizer = flat_optimizer(optimizer, weights)

    @property
    def value(self) -> float:
        """The current coefficient."""
        return float(np.exp(self._log[0]))

    def learn(self, entropy_gap: float) -> float:
        """Do a gradient step, given the target entropy minus the entropy; return the loss."""
        loss = -float(self._log[0]) * entropy_gap
        self._gradient[0] = -entropy_gap
        self._optimizer.step(math.inf)
        return loss


class FastSoft(FastContinuous[SoftNetworks]):
    """Implements SAC and TQC, which differ only in how they use their critics' outputs."""

    target_entropy: Any
    target_update_interval: int
    ent_coef_optimizer: torch.optim.Adam | None
    ent_coef_tensor: torch.Tensor
    _entropy_coefficient: EntropyCoefficient | None = None

    def _make_network(self) -> SoftNetworks:
        self._entropy_coefficient = None
        if self.ent_coef_optimizer is not None:
            log_value: Any = self.log_ent_coef  # type: ignore[attr-defined]  # SAC's and TQC's
            self._entropy_coefficient = EntropyCoefficient(log_value, self.ent_coef_optimizer)
        return SoftNetworks(self.policy)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_entropy_coefficient"]

    def _optimizers(self) -> list[torch.optim.Optimizer]:
        learned = [] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer]
        return [*super()._optimizers(), *learned]

    def _policy_actions(self, observations: npt.NDArray[Any]) -> Array:
        return self.network.sample_actions(self.network.encode(observations)).values

    def _learn(self, batch: Batch, step: int) -> tuple[Losses, None]:
        network = self.network
        observations = network.encode(batch.observations)
        actions = network.sample_actions(observations, keep=True)
        log_probs = actions.log_probs()
        losses = self._train_entropy_coefficient(log_probs)
        ent_coef = losses["ent_coef"]
        losses["critic_loss"] = self._train_critics(batch, observations, ent_coef)
        inputs = critic_inputs(observations, actions.values)
        action_gradients, values = self._action_gradients(inputs, len(observations))
        log_prob_gradient = np.float32(ent_coef / len(log_probs))
        network.actor.backward(actions.gradients(action_gradients, log_prob_gradient)[None])
        network.actor_optimizer.step(math.inf)
        losses["actor_loss"] = float(np.mean(np.float32(ent_coef) * log_probs - values))
        if step % self.target_update_interval == 0:
            network.critics.update_target(self.tau)
        return losses, None

    def _train_entropy_coefficient(self, log_probs: Array) -> Losses:
        """Return the coefficient for this step; update it for the next one if it is learned."""
        learned = self._entropy_coefficient
        if self.ent_coef_optimizer is None or learned is None:
            return {"ent_coef": float(self.ent_coef_tensor)}
        value = learned.value
        entropy_gap = float(np.mean(log_probs + np.float32(self.target_entropy)))
        return {"ent_coef": value, "ent_coef_loss": learned.learn(entropy_gap)}

    def _train_critics(self, batch: Batch, observations: Array, ent_coef: float) -> float:
        """Update the critics; return their loss."""
        network, critics = self.network, self.network.critics
        next_observations = network.encode(batch.next_observations)
        actions = network.sample_actions(next_observations)
        inputs = critic_inputs(next_observations, actions.values)
        next_values = self._next_values(critics.target.forward(inputs, keep=False))
        next_values -= np.float32(ent_coef) * actions.log_probs()
        targets = batch.rewards + batch.discounts * next_values
        outputs = critics.online.forward(critic_inputs(observations, batch.actions.T))
        gradients, loss = self._critic_gradients(outputs, targets)
        critics.online.backward(gradients)
        critics.optimizer.step(math.inf)
        return loss

    def _next_values(self, outputs: Array) -> Array:
        """Return the values of the next observations, given the outputs of all target critics."""
        raise NotImplementedError

    def _critic_gradients(self, outputs: Array, targets: Array) -> tuple[Array, float]:
        """Return the gradients of the critics' outputs, and the loss."""
        raise NotImplementedError

    def _action_gradients(self, inputs: Array, obs_size: int) -> tuple[Array, Array]:
        """Return the gradients of the actor's loss for its actions, and the actions' values.

        Inputs have the observations in the first `obs_size` rows and the actions below.
        """
        raise NotImplementedError
