"""The base class of the fast engine's off-policy algorithms: rollouts, sampling, logging."""

from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.type_aliases import RolloutReturn, TrainFreq, TrainFrequencyUnit
from stable_baselines3.common.vec_env import VecEnv

from app.worker.fast.flat import Array
from app.worker.fast.model import FastModel, NetworkT, flush_denormals
from app.worker.fast.off_policy.replay_buffer import (
    Batch,
    Transition,
    add,
    allows_direct_access,
    sample,
)

Losses = dict[str, float]
"""The logged values of a gradient step, by name."""


class FastOffPolicy(FastModel[NetworkT], OffPolicyAlgorithm):
    """Fills and samples the replay buffer without the copies that SB3 makes of each transition."""

    @flush_denormals()
    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Do `gradient_steps` updates, each on a batch from the replay buffer."""
        self._update_learning_rate(self._optimizers())
        assert self.replay_buffer is not None
        losses: defaultdict[str, list[float]] = defaultdict(list)
        for step in range(gradient_steps):
            self._n_updates += 1
            batch = sample(self.replay_buffer, batch_size, self.gamma, self._vec_normalize_env)
            step_losses, norm = self._learn(batch, step)
            for name, loss in step_losses.items():
                losses[name].append(loss)
            if self.after_gradient_step is not None:
                self.after_gradient_step(norm)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        for name, values in losses.items():
            self.logger.record(f"train/{name}", np.mean(values))

    def _optimizers(self) -> list[torch.optim.Optimizer]:
        """Return the optimizers that follow the learning rate schedule."""
        raise NotImplementedError

    def _learn(self, batch: Batch, step: int) -> tuple[Losses, float | None]:
        """Do gradient step number `step` of a call of `train`.

        Returns:
            Its losses, and the gradient norm before clipping if the algorithm clips.
        """
        raise NotImplementedError

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        train_freq: TrainFreq,
        replay_buffer: ReplayBuffer,
        action_noise: ActionNoise | None = None,
        learning_starts: int = 0,
        log_interval: int | None = None,
    ) -> RolloutReturn:
        """Add `train_freq` steps to the replay buffer; return their number and whether to go on."""
        if train_freq.unit is not TrainFrequencyUnit.STEP:
            return super().collect_rollouts(
                env,
                callback,
                train_freq,
                replay_buffer,
                action_noise,
                learning_starts,
                log_interval,
            )
        callback.on_rollout_start()
        ended = 0
        for step in range(1, train_freq.frequency + 1):
            actions, buffer_actions = self._sample_action(
                learning_starts, action_noise, env.num_envs
            )
            new_obs, rewards, dones, infos = env.step(actions)
            self.num_timesteps += env.num_envs
            callback.update_locals({"rewards": rewards, "dones": dones, "infos": infos})
            if not callback.on_step():
                return RolloutReturn(step * env.num_envs, ended, continue_training=False)
            self._store_transition(replay_buffer, buffer_actions, new_obs, rewards, dones, infos)
            self._update_current_progress_remaining(self.num_timesteps, self._total_timesteps)
            self._on_step()
            if np.count_nonzero(dones):
                self._update_info_buffer(infos, dones)
                ended += self._end_episodes(dones, action_noise, log_interval)
        callback.on_rollout_end()
        steps = train_freq.frequency * env.num_envs
        return RolloutReturn(steps, ended, continue_training=True)

    def _end_episodes(
        self,
        dones: npt.NDArray[np.bool_],
        action_noise: ActionNoise | None,
        log_interval: int | None,
    ) -> int:
        """Count the episodes that ended, and return their number."""
        ended = np.flatnonzero(dones).tolist()
        for index in ended:
            self._episode_num += 1
            if action_noise is not None:
                action_noise.reset(**({"indices": [index]} if len(dones) > 1 else {}))
            if log_interval is not None and self._episode_num % log_interval == 0:
                self.dump_logs()
        return len(ended)

    def _store_transition(
        self,
        replay_buffer: ReplayBuffer,
        buffer_action: npt.NDArray[Any],
        new_obs: Any,  # noqa: ANN401 - SB3 allows dictionaries
        reward: Array,
        dones: npt.NDArray[np.bool_],
        infos: list[dict[str, Any]],
    ) -> None:
        if not allows_direct_access(replay_buffer, self._vec_normalize_env):
            super()._store_transition(replay_buffer, buffer_action, new_obs, reward, dones, infos)
            return
        transition = Transition(self._last_obs, buffer_action, new_obs, reward, dones, infos)
        add(replay_buffer, transition)
        self._last_obs = self._last_original_obs = new_obs
