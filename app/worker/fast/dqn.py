"""Deep Q-Networks that act and learn in NumPy."""

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.type_aliases import RolloutReturn, TrainFreq, TrainFrequencyUnit
from stable_baselines3.common.vec_env import VecEnv

from app.worker.fast.flat import Array
from app.worker.fast.model import FastModel
from app.worker.fast.q_network import QNetworks
from app.worker.fast.replay import Memories, Transition, draw, is_plain, remember


class FastDQN(FastModel[QNetworks], DQN):
    """SB3's DQN, and nothing of it different but the time it takes."""

    def _adopt_network(self) -> QNetworks:
        return QNetworks(self.policy)

    def collect_rollouts(  # noqa: PLR0913 - SB3's arguments
        self,
        env: VecEnv,
        callback: BaseCallback,
        train_freq: TrainFreq,
        replay_buffer: ReplayBuffer,
        action_noise: ActionNoise | None = None,
        learning_starts: int = 0,
        log_interval: int | None = None,
    ) -> RolloutReturn:
        """Remember what happens in a few steps; return how many and whether to go on."""
        if train_freq.unit is not TrainFrequencyUnit.STEP:
            return super().collect_rollouts(
                env, callback, train_freq, replay_buffer, action_noise, learning_starts
            )
        callback.on_rollout_start()
        ended = 0
        for step in range(1, train_freq.frequency + 1):
            actions, _ = self._sample_action(learning_starts, action_noise, env.num_envs)
            new_obs, rewards, dones, infos = env.step(actions)
            self.num_timesteps += env.num_envs
            callback.update_locals({"rewards": rewards, "dones": dones, "infos": infos})
            if not callback.on_step():
                return RolloutReturn(step * env.num_envs, ended, continue_training=False)
            self._store_transition(replay_buffer, actions, new_obs, rewards, dones, infos)
            self._update_current_progress_remaining(self.num_timesteps, self._total_timesteps)
            self._on_step()
            if np.count_nonzero(dones):
                self._update_info_buffer(infos, dones)
                ended += self._count_episodes(int(dones.sum()), log_interval)
        callback.on_rollout_end()
        steps = train_freq.frequency * env.num_envs
        return RolloutReturn(steps, ended, continue_training=True)

    def _count_episodes(self, ended: int, log_interval: int | None) -> int:
        for _ in range(ended):
            self._episode_num += 1
            if log_interval is not None and self._episode_num % log_interval == 0:
                self.dump_logs()
        return ended

    def _sample_action(
        self,
        learning_starts: int,
        action_noise: ActionNoise | None = None,  # noqa: ARG002 - SB3's DQN has none
        n_envs: int = 1,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Choose at random now and then; return the actions as played and as remembered."""
        if self.num_timesteps < learning_starts or np.random.rand() < self.exploration_rate:
            actions = np.array([self.action_space.sample() for _ in range(n_envs)])
        else:
            observed: Any = self._last_obs
            actions = self.network.best(observed)
        return actions, actions

    def _store_transition(
        self,
        replay_buffer: ReplayBuffer,
        buffer_action: npt.NDArray[Any],
        new_obs: Any,  # noqa: ANN401 - SB3 says dictionaries, too
        reward: Array,
        dones: npt.NDArray[np.bool_],
        infos: list[dict[str, Any]],
    ) -> None:
        if not is_plain(replay_buffer, self._vec_normalize_env):
            super()._store_transition(replay_buffer, buffer_action, new_obs, reward, dones, infos)
            return
        step = Transition(self._last_obs, buffer_action, new_obs, reward, dones, infos)
        remember(replay_buffer, step)
        self._last_obs = self._last_original_obs = new_obs

    def _on_step(self) -> None:
        self._n_calls += 1
        if self._n_calls % max(self.target_update_interval // self.n_envs, 1) == 0:
            self.network.follow(self.tau)
        self.exploration_rate = self.exploration_schedule(self._current_progress_remaining)
        self.logger.record("rollout/exploration_rate", self.exploration_rate)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Learn from past steps so many times."""
        self._update_learning_rate(self.policy.optimizer)
        assert self.replay_buffer is not None
        losses = []
        for _ in range(gradient_steps):
            drawn = draw(self.replay_buffer, batch_size, self.gamma, self._vec_normalize_env)
            losses.append(self._learn(drawn))
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", np.mean(losses))

    def _learn(self, drawn: Memories) -> float:
        """Do one gradient step; return the loss before it."""
        network, size = self.network, len(drawn.rewards)
        aims = drawn.rewards + drawn.discounts * network.expected(drawn.next_observations)
        outputs = network.online.forward(network.encode(drawn.observations))
        chosen = (drawn.actions, np.arange(size))
        errors = outputs[chosen] - aims
        # The slope of Huber's loss, which is `bounded * (errors - bounded / 2)`.
        bounded = np.minimum(np.maximum(errors, -1.0), 1.0)
        slopes = np.zeros_like(outputs)
        slopes[chosen] = bounded * np.float32(1 / size)
        network.online.backward(slopes)
        length = network.optimizer.step(self.max_grad_norm)
        if self.after_gradient_step is not None:
            self.after_gradient_step(length)
        return float(np.dot(bounded, errors - bounded * np.float32(0.5))) / size
