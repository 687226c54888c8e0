"""Proximal Policy Optimization in NumPy."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from stable_baselines3 import PPO

from app.worker.fast.flat import Array
from app.worker.fast.model import flush_denormals
from app.worker.fast.on_policy.algorithm import FastOnPolicy
from app.worker.fast.on_policy.experience import Experience, normalized


@dataclass(frozen=True, slots=True)
class _ClipRanges:
    """The current clip ranges of the policy and the values."""

    policy: float
    values: float | None


class _Epoch:
    """One pass over the experience in random order, and its results per step."""

    def __init__(self, experience: Experience, batch_size: int, *, normalize: bool) -> None:
        self.steps = experience.take(np.random.permutation(len(experience)))
        self._starts = np.arange(0, len(experience), batch_size)
        self.batches = [slice(start, start + batch_size) for start in self._starts.tolist()]
        self.advantages: Array = self.steps["advantages"]
        if normalize:
            self._normalize(batch_size)
        self.log_ratios, self.ratios, self.objectives, self.errors, self.entropies = np.zeros(
            (5, len(experience)), np.float32
        )

    def _normalize(self, batch_size: int) -> None:
        whole = len(self.advantages) // batch_size * batch_size
        batches = self.advantages[:whole].reshape(-1, batch_size)
        rest = self.advantages[whole:]
        self.advantages = np.concatenate([normalized(batches).ravel(), normalized(rest)])

    def kl(self, batch: slice) -> float:
        """Return a minibatch's approximate KL divergence from the policy of the rollout."""
        return float(np.mean(self.ratios[batch] - 1 - self.log_ratios[batch]))

    def means(self, values: Array, batches: int) -> list[float]:
        """Return the mean of each of the first `batches` minibatches."""
        sums = np.add.reduceat(values.astype(np.float64), self._starts)
        sizes = np.diff(self._starts, append=len(values))
        means: list[float] = (sums / sizes)[:batches].tolist()
        return means


@dataclass(slots=True)
class _Results:
    """The logged results of an update: one number per minibatch."""

    policy_losses: list[float] = field(default_factory=list)
    value_losses: list[float] = field(default_factory=list)
    entropy_losses: list[float] = field(default_factory=list)
    clip_fractions: list[float] = field(default_factory=list)
    kls: list[float] = field(default_factory=list)
    """Of the last epoch only, as in SB3."""

    def add(self, epoch: _Epoch, batches: int, clip: float) -> None:
        """Add the results of an epoch's first `batches` minibatches."""
        self.policy_losses += epoch.means(-epoch.objectives, batches)
        self.value_losses += epoch.means(epoch.errors * epoch.errors, batches)
        self.entropy_losses += epoch.means(-epoch.entropies, batches)
        is_clipped = (np.abs(epoch.ratios - 1) > clip).astype(np.float32)
        self.clip_fractions += epoch.means(is_clipped, batches)
        self.kls = epoch.means(epoch.ratios - 1 - epoch.log_ratios, batches)


class FastPPO(FastOnPolicy, PPO):
    """SB3's PPO, computed by the fast engine."""

    @flush_denormals()
    def train(self) -> None:
        """Do `n_epochs` passes over the last rollout, or fewer if `target_kl` is exceeded."""
        self._update_learning_rate(self.policy.optimizer)
        clip_ranges = self._clip_ranges()
        experience = Experience.of(self.rollout_buffer, self.network.actions)
        results = _Results()
        for _ in range(self.n_epochs):
            normalize = self.normalize_advantage
            epoch = _Epoch(experience, self.batch_size, normalize=normalize)
            batches = self._learn(epoch, clip_ranges)
            results.add(epoch, batches, clip_ranges.policy)
            self._n_updates += 1
            if self._exceeds_target_kl(results.kls[-1]):
                break
        self._log(self._losses(results, clip_ranges))

    def _clip_ranges(self) -> _ClipRanges:
        remaining = self._current_progress_remaining
        values = None if self.clip_range_vf is None else self.clip_range_vf(remaining)  # type: ignore[operator]
        return _ClipRanges(self.clip_range(remaining), values)  # type: ignore[operator]

    def _learn(self, epoch: _Epoch, clip_ranges: _ClipRanges) -> int:
        """Do one gradient step per minibatch until `target_kl` is exceeded; return their number."""
        for done, batch in enumerate(epoch.batches, start=1):
            output_gradients, value_gradients = self._gradients(epoch, batch, clip_ranges)
            if self.target_kl is not None and self._exceeds_target_kl(epoch.kl(batch)):
                return done
            self.network.backward(output_gradients, value_gradients)
            norm = self.network.optimizer.step(self.max_grad_norm)
            if self.after_gradient_step is not None:
                self.after_gradient_step(norm)
        return len(epoch.batches)

    def _gradients(
        self, epoch: _Epoch, batch: slice, clip_ranges: _ClipRanges
    ) -> tuple[Array, Array]:
        """Return a minibatch's gradients of the policy outputs and of the values."""
        steps, network = epoch.steps.columns, self.network
        outputs, values = network.forward(steps["observations"][batch])
        actions = steps["actions"][batch]
        log_probs, epoch.entropies[batch] = network.actions.evaluate(outputs, actions)
        log_ratios = epoch.log_ratios[batch]
        np.subtract(log_probs, steps["log_probs"][batch], out=log_ratios)
        ratios = np.exp(log_ratios, out=epoch.ratios[batch])
        advantages = epoch.advantages[batch]
        unclipped = advantages * ratios
        clipped = np.minimum(np.maximum(ratios, 1 - clip_ranges.policy), 1 + clip_ranges.policy)
        clipped *= advantages
        np.minimum(unclipped, clipped, out=epoch.objectives[batch])
        size = len(ratios)
        # Where the clipped objective is smaller, the gradient is zero.
        unclipped *= unclipped <= clipped
        unclipped *= np.float32(-1 / size)
        output_gradients = network.actions.gradients(unclipped, -self.ent_coef / size)
        return output_gradients, self._value_gradients(epoch, batch, values, clip_ranges.values)

    def _value_gradients(
        self, epoch: _Epoch, batch: slice, values: Array, clip: float | None
    ) -> Array:
        errors = epoch.errors[batch]
        weight = np.float32(2 * self.vf_coef / len(values))
        returns = epoch.steps["returns"][batch]
        if clip is None:
            np.subtract(values, returns, out=errors)
            return errors * weight
        before = epoch.steps["values"][batch]
        change = values - before
        np.subtract(before + np.clip(change, -clip, clip), returns, out=errors)
        gradients: Array = errors * weight * (np.abs(change) <= clip)
        return gradients

    def _exceeds_target_kl(self, kl: float) -> bool:
        return self.target_kl is not None and kl > 1.5 * self.target_kl

    def _losses(self, results: _Results, clip_ranges: _ClipRanges) -> dict[str, Any]:
        loss = (
            results.policy_losses[-1]
            + self.ent_coef * results.entropy_losses[-1]
            + self.vf_coef * results.value_losses[-1]
        )
        losses = {
            "entropy_loss": np.mean(results.entropy_losses),
            "policy_gradient_loss": np.mean(results.policy_losses),
            "value_loss": np.mean(results.value_losses),
            "approx_kl": np.mean(results.kls),
            "clip_fraction": np.mean(results.clip_fractions),
            "loss": loss,
            "clip_range": clip_ranges.policy,
        }
        if clip_ranges.values is not None:
            losses["clip_range_vf"] = clip_ranges.values
        return losses
