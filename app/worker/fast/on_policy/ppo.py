"""Proximal Policy Optimisation whose updates run in NumPy."""

from dataclasses import dataclass, field

import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.utils import explained_variance

from app.worker.fast.flat import Array
from app.worker.fast.model import tiny_is_zero
from app.worker.fast.on_policy.algorithm import FastOnPolicy
from app.worker.fast.on_policy.experience import Experience, normalized


@dataclass(frozen=True, slots=True)
class _Limits:
    """How far an update may move the policy and the values."""

    clip: float
    value_clip: float | None


class _Epoch:
    """One pass through the experience in random order, and what came of it step by step."""

    def __init__(self, experience: Experience, batch_size: int, *, normalize: bool) -> None:
        self.steps = experience.reordered(np.random.permutation(len(experience)))
        self._starts = np.arange(0, len(experience), batch_size)
        self.batches = [slice(start, start + batch_size) for start in self._starts.tolist()]
        self.advantages = self.steps.advantages
        if normalize:
            self._normalize(batch_size)
        self.log_ratios, self.ratios, self.gains, self.errors, self.entropies = np.zeros(
            (5, len(experience)), np.float32
        )

    def _normalize(self, batch_size: int) -> None:
        whole = len(self.advantages) // batch_size * batch_size
        batches = self.advantages[:whole].reshape(-1, batch_size)
        rest = self.advantages[whole:]
        self.advantages = np.concatenate([normalized(batches).ravel(), normalized(rest)])

    def divergence(self, batch: slice) -> float:
        """Return how far a minibatch found the policy to be from the one that acted."""
        return float(np.mean(self.ratios[batch] - 1 - self.log_ratios[batch]))

    def means(self, values: Array, batches: int) -> list[float]:
        """Return the mean of each of the first minibatches."""
        sums = np.add.reduceat(values.astype(np.float64), self._starts)
        sizes = np.diff(self._starts, append=len(values))
        means: list[float] = (sums / sizes)[:batches].tolist()
        return means


@dataclass(slots=True)
class _Findings:
    """What is logged of an update: one number per minibatch."""

    policy_losses: list[float] = field(default_factory=list)
    value_losses: list[float] = field(default_factory=list)
    entropy_losses: list[float] = field(default_factory=list)
    clip_fractions: list[float] = field(default_factory=list)
    divergences: list[float] = field(default_factory=list)
    """Those of the last epoch, as in SB3."""

    def add(self, epoch: _Epoch, batches: int, clip: float) -> None:
        """Add what an epoch's first minibatches found."""
        self.policy_losses += epoch.means(-epoch.gains, batches)
        self.value_losses += epoch.means(epoch.errors * epoch.errors, batches)
        self.entropy_losses += epoch.means(-epoch.entropies, batches)
        is_clipped = (np.abs(epoch.ratios - 1) > clip).astype(np.float32)
        self.clip_fractions += epoch.means(is_clipped, batches)
        self.divergences = epoch.means(epoch.ratios - 1 - epoch.log_ratios, batches)


class FastPPO(FastOnPolicy, PPO):
    """SB3's PPO, and nothing of it different but the time it takes."""

    @tiny_is_zero()
    def train(self) -> None:
        """Learn from the last rollout."""
        self._update_learning_rate(self.policy.optimizer)
        limits = self._limits()
        experience = Experience.of(self.rollout_buffer, self.network.actions)
        found = _Findings()
        for _ in range(self.n_epochs):
            normalize = self.normalize_advantage
            epoch = _Epoch(experience, self.batch_size, normalize=normalize)
            batches = self._learn(epoch, limits)
            found.add(epoch, batches, limits.clip)
            self._n_updates += 1
            if self._is_too_far(found.divergences[-1]):
                break
        self._log(found, limits)

    def _limits(self) -> _Limits:
        left = self._current_progress_remaining
        of_values = None if self.clip_range_vf is None else self.clip_range_vf(left)  # type: ignore[operator]
        return _Limits(self.clip_range(left), of_values)  # type: ignore[operator]

    def _learn(self, epoch: _Epoch, limits: _Limits) -> int:
        """Do one gradient step per minibatch until the policy is too far; return how many."""
        for done, batch in enumerate(epoch.batches, start=1):
            of_outputs, of_values = self._look_at(epoch, batch, limits)
            if self.target_kl is not None and self._is_too_far(epoch.divergence(batch)):
                return done
            self.network.backward(of_outputs, of_values)
            length = self.network.optimizer.step(self.max_grad_norm)
            if self.after_gradient_step is not None:
                self.after_gradient_step(length)
        return len(epoch.batches)

    def _look_at(self, epoch: _Epoch, batch: slice, limits: _Limits) -> tuple[Array, Array]:
        """Return how the loss of a minibatch depends on the networks' outputs."""
        steps, network = epoch.steps, self.network
        outputs, values = network.forward(steps.observations[batch])
        log_probs, epoch.entropies[batch] = network.actions.judge(outputs, steps.actions[:, batch])
        changes = epoch.log_ratios[batch]
        np.subtract(log_probs, steps.log_probs[batch], out=changes)
        ratios = np.exp(changes, out=epoch.ratios[batch])
        advantages = epoch.advantages[batch]
        free = advantages * ratios
        bound = np.minimum(np.maximum(ratios, 1 - limits.clip), 1 + limits.clip)
        bound *= advantages
        np.minimum(free, bound, out=epoch.gains[batch])
        size = len(ratios)
        # Where the bound is what counts, the policy has no influence on the loss.
        free *= free <= bound
        free *= np.float32(-1 / size)
        of_outputs = network.actions.slopes(free, -self.ent_coef / size)
        return of_outputs, self._look_at_values(epoch, batch, values, limits.value_clip)

    def _look_at_values(
        self, epoch: _Epoch, batch: slice, values: Array, clip: float | None
    ) -> Array:
        errors = epoch.errors[batch]
        weight = np.float32(2 * self.vf_coef / len(values))
        if clip is None:
            np.subtract(values, epoch.steps.returns[batch], out=errors)
            return errors * weight
        before = epoch.steps.values[batch]
        change = values - before
        np.subtract(before + np.clip(change, -clip, clip), epoch.steps.returns[batch], out=errors)
        slopes: Array = errors * weight * (np.abs(change) <= clip)
        return slopes

    def _is_too_far(self, divergence: float) -> bool:
        return self.target_kl is not None and divergence > 1.5 * self.target_kl

    def _log(self, found: _Findings, limits: _Limits) -> None:
        buffer, record = self.rollout_buffer, self.logger.record
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        loss = (
            found.policy_losses[-1]
            + self.ent_coef * found.entropy_losses[-1]
            + self.vf_coef * found.value_losses[-1]
        )
        record("train/entropy_loss", np.mean(found.entropy_losses))
        record("train/policy_gradient_loss", np.mean(found.policy_losses))
        record("train/value_loss", np.mean(found.value_losses))
        record("train/approx_kl", np.mean(found.divergences))
        record("train/clip_fraction", np.mean(found.clip_fractions))
        record("train/loss", loss)
        record("train/explained_variance", explained)
        if hasattr(self.policy, "log_std"):
            record("train/std", float(np.exp(self.policy.log_std.detach().numpy()).mean()))
        record("train/n_updates", self._n_updates, exclude="tensorboard")
        record("train/clip_range", limits.clip)
        if limits.value_clip is not None:
            record("train/clip_range_vf", limits.value_clip)
