"""What the fast engine's on-policy algorithms share: how experience is collected."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.worker.fast.flat import Array
from app.worker.fast.model import FastModel
from app.worker.fast.on_policy.actor_critic import ActorCritic


@dataclass(frozen=True, slots=True)
class _Cut:
    """An episode that a time limit ended; what would have come is estimated."""

    step: int
    env: int
    observation: npt.NDArray[Any]


class FastOnPolicy(FastModel[ActorCritic], OnPolicyAlgorithm):
    """Collects rollouts with a network in NumPy."""

    def _adopt_network(self) -> ActorCritic:
        return ActorCritic(self.policy)

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Fill the buffer with what the current policy does; return whether to go on."""
        rollout_buffer.reset()
        callback.on_rollout_start()
        cuts: list[_Cut] = []
        noise = self.network.actions.noise(n_rollout_steps, env.num_envs)
        for step in range(n_rollout_steps):
            if not self._step(env, callback, step, noise[step], cuts):
                return False
        self._judge(rollout_buffer, cuts)
        callback.update_locals({"rollout_buffer": rollout_buffer})
        callback.on_rollout_end()
        return True

    def _step(
        self, env: VecEnv, callback: BaseCallback, step: int, noise: Array, cuts: list[_Cut]
    ) -> bool:
        buffer, network = self.rollout_buffer, self.network
        observed: Any = self._last_obs
        chosen = network.actions.choose(network.act(observed), noise)
        buffer.observations[step] = observed.reshape(buffer.observations.shape[1:])
        buffer.actions[step] = chosen
        buffer.episode_starts[step] = self._last_episode_starts
        new_obs: Any
        new_obs, rewards, dones, infos = env.step(network.actions.play(chosen))
        self.num_timesteps += env.num_envs
        callback.update_locals({"rewards": rewards, "dones": dones, "infos": infos})
        if not callback.on_step():
            return False
        if np.count_nonzero(dones):
            self._update_info_buffer(infos, dones)
            cuts += [
                _Cut(step, n, infos[n]["terminal_observation"])
                for n in np.flatnonzero(dones).tolist()
                if infos[n].get("TimeLimit.truncated")
            ]
        buffer.rewards[step] = rewards
        self._last_obs, self._last_episode_starts = new_obs, dones
        return True

    def _judge(self, buffer: RolloutBuffer, cuts: list[_Cut]) -> None:
        """Add what the networks think of the steps, and what follows from it."""
        steps = buffer.buffer_size * buffer.n_envs
        values, log_probs = self.network.judge(
            buffer.observations.reshape(steps, *buffer.observations.shape[2:]),
            buffer.actions.reshape(steps, -1),
        )
        buffer.values[...] = values.reshape(buffer.values.shape)
        buffer.log_probs[...] = log_probs.reshape(buffer.values.shape)
        if cuts:
            expected = self.network.values(np.stack([cut.observation for cut in cuts]))
            for cut, value in zip(cuts, expected, strict=True):
                buffer.rewards[cut.step, cut.env] += self.gamma * value
        last_obs: Any = self._last_obs
        _estimate_advantages(buffer, self.network.values(last_obs), self._last_episode_starts)
        buffer.pos, buffer.full = buffer.buffer_size, True


def _estimate_advantages(buffer: RolloutBuffer, last_values: Array, ended: Any) -> None:  # noqa: ANN401 - SB3 says None, too
    """Do what `compute_returns_and_advantage` does, all steps at once where that is possible."""
    ends = np.vstack([buffer.episode_starts[1:], ended])
    goes_on = np.subtract(1.0, ends, dtype=np.float32)
    next_values = np.vstack([buffer.values[1:], last_values])
    surprise = buffer.rewards + buffer.gamma * next_values * goes_on - buffer.values
    decay = buffer.gamma * buffer.gae_lambda * goes_on
    later = np.zeros(buffer.n_envs, np.float32)
    for step in range(buffer.buffer_size - 1, -1, -1):
        later = surprise[step] + decay[step] * later
        buffer.advantages[step] = later
    buffer.returns = buffer.advantages + buffer.values
