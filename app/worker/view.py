"""Play the newest policy for those who watch, beside the training and at a pace for eyes."""

import time
from typing import Any

import gymnasium as gym
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv

from app.worker import messages
from app.worker.channel import Channel, Control
from app.worker.models import build_model, load_weights
from app.worker.rendering import draw, make_drawn_env, to_jpeg

_SMALL_BUFFER = {"buffer_size": 100}
"""A viewer never learns, so it needs no memory of past steps."""


def view(job: messages.View, channel: Channel, control: Control) -> None:
    """Send pictures until the lab says stop."""
    env = make_drawn_env(job.env_id)
    changes = _SMALL_BUFFER if "buffer_size" in job.hyperparameters else {}
    model = build_model(job, DummyVecEnv([lambda: env]), **changes)
    control.weights_arrived.wait()
    player = _Player(env, model)
    steps_per_frame = max(1, round(env.metadata.get("render_fps", 30) / job.fps))
    due = time.monotonic()
    while not control.stop_requested:
        if control.paused and player.has_begun:
            control.wait_while_paused(lambda: None)
        if taken := control.take_weights():
            player.learn_from(*taken)
        channel.send_picture(player.advance(steps_per_frame), to_jpeg(draw(env)))
        due = max(due + 1 / job.fps, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    channel.send(messages.Finished(reason="stopped"))
    env.close()


class _Player:
    """One episode after another with the policy's current weights."""

    def __init__(self, env: gym.Env[Any, Any], model: BaseAlgorithm) -> None:
        self._env = env
        self._model = model
        self._trained_episodes = 0
        self._observation: Any = None
        self._step = 0
        self._reward = self._return = 0.0
        self._over = True

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to see."""
        return self._step > 0

    def learn_from(self, header: messages.WeightsHeader, weights: bytes) -> None:
        """Play with newer weights from the next step on."""
        load_weights(self._model, weights)
        self._trained_episodes = header.episode

    def advance(self, steps: int) -> messages.FrameHeader:
        """Play some steps, or up to the end of the episode, and say where it stands."""
        if self._over:
            self._begin()
        for _ in range(steps):
            action, _ = self._model.policy.predict(self._observation, deterministic=False)
            self._observation, reward, terminated, truncated, _ = self._env.step(action)
            self._step += 1
            self._reward = float(reward)
            self._return += self._reward
            self._over = terminated or truncated
            if self._over:
                break
        return messages.FrameHeader(
            kind="training",
            episode=self._trained_episodes,
            step=self._step,
            reward=self._reward,
            return_=self._return,
        )

    def _begin(self) -> None:
        self._observation, _ = self._env.reset()
        self._step, self._reward, self._return, self._over = 0, 0.0, 0.0, False
