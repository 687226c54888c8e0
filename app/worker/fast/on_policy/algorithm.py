"""The base class of the fast engine's on-policy algorithms: rollouts, advantages, logging."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.utils import explained_variance
from stable_baselines3.common.vec_env import VecEnv

from app.worker.fast.flat import Array
from app.worker.fast.model import FastModel
from app.worker.fast.on_policy.actor_critic import ActorCritic


@dataclass(frozen=True, slots=True)
class _Truncation:
    """An episode ended by a time limit, whose return is bootstrapped."""

    step: int
    env: int
    observation: npt.NDArray[Any]


class FastOnPolicy(FastModel[ActorCritic], OnPolicyAlgorithm):
    """Collects rollouts with NumPy networks."""

    def _make_network(self) -> ActorCritic:
        return ActorCritic(self.policy)

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Fill the rollout buffer with steps of the current policy; return whether to continue."""
        rollout_buffer.reset()
        callback.on_rollout_start()
        truncations: list[_Truncation] = []
        noise = self.network.actions.noise(n_rollout_steps, env.num_envs)
        for step in range(n_rollout_steps):
            if not self._step(env, callback, step, noise[step], truncations):
                return False
        self._evaluate_steps(rollout_buffer)
        self._bootstrap(rollout_buffer, truncations)
        last_obs: Any = self._last_obs
        last_values = self.network.values(last_obs)
        _estimate_advantages(rollout_buffer, last_values, self._last_episode_starts)
        rollout_buffer.pos, rollout_buffer.full = rollout_buffer.buffer_size, True
        callback.update_locals({"rollout_buffer": rollout_buffer})
        callback.on_rollout_end()
        return True

    def _step(
        self,
        env: VecEnv,
        callback: BaseCallback,
        step: int,
        noise: Array,
        truncations: list[_Truncation],
    ) -> bool:
        buffer, network = self.rollout_buffer, self.network
        observations: Any = self._last_obs
        actions = network.actions.choose(network.act(observations), noise)
        buffer.observations[step] = observations.reshape(buffer.observations.shape[1:])
        buffer.actions[step] = actions
        buffer.episode_starts[step] = self._last_episode_starts
        new_obs: Any
        new_obs, rewards, dones, infos = env.step(network.actions.for_envs(actions))
        self.num_timesteps += env.num_envs
        callback.update_locals({"rewards": rewards, "dones": dones, "infos": infos})
        if not callback.on_step():
            return False
        if np.count_nonzero(dones):
            self._update_info_buffer(infos, dones)
            truncations += [
                _Truncation(step, n, infos[n]["terminal_observation"])
                for n in np.flatnonzero(dones).tolist()
                if infos[n].get("TimeLimit.truncated")
            ]
        buffer.rewards[step] = rewards
        self._last_obs, self._last_episode_starts = new_obs, dones
        return True

    def _evaluate_steps(self, buffer: RolloutBuffer) -> None:
        """Add the values and log-probabilities of all steps to the buffer."""
        steps = buffer.buffer_size * buffer.n_envs
        values, log_probs = self.network.evaluate(
            buffer.observations.reshape(steps, *buffer.observations.shape[2:]),
            buffer.actions.reshape(steps, -1),
        )
        buffer.values[...] = values.reshape(buffer.values.shape)
        buffer.log_probs[...] = log_probs.reshape(buffer.values.shape)

    def _bootstrap(self, buffer: RolloutBuffer, truncations: list[_Truncation]) -> None:
        """Add the value of the last observation of each truncated episode to its last reward."""
        if not truncations:
            return
        values = self.network.values(np.stack([end.observation for end in truncations]))
        for end, value in zip(truncations, values, strict=True):
            buffer.rewards[end.step, end.env] += self.gamma * value

    def _log(self, losses: Mapping[str, Any]) -> None:
        """Log the losses of an update, and the values that both algorithms log."""
        buffer, record = self.rollout_buffer, self.logger.record
        for name, value in losses.items():
            record(f"train/{name}", value)
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        record("train/explained_variance", explained)
        if hasattr(self.policy, "log_std"):
            record("train/std", float(np.exp(self.policy.log_std.detach().numpy()).mean()))
        record("train/n_updates", self._n_updates, exclude="tensorboard")


def _estimate_advantages(buffer: RolloutBuffer, last_values: Array, dones: Any) -> None:  # noqa: ANN401 - SB3 allows None
    """Compute GAE like SB3's `compute_returns_and_advantage`, vectorized over steps if possible."""
    is_last = np.vstack([buffer.episode_starts[1:], dones])
    non_terminal = np.subtract(1.0, is_last, dtype=np.float32)
    next_values = np.vstack([buffer.values[1:], last_values])
    deltas = buffer.rewards + buffer.gamma * next_values * non_terminal - buffer.values
    decay = buffer.gamma * buffer.gae_lambda * non_terminal
    advantages = np.zeros(buffer.n_envs, np.float32)
    for step in range(buffer.buffer_size - 1, -1, -1):
        advantages = deltas[step] + decay[step] * advantages
        buffer.advantages[step] = advantages
    buffer.returns = buffer.advantages + buffer.values
