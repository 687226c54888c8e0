"""Play the newest policy for those who watch, beside the training and at a pace for eyes."""

import time

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands, messages
from app.protocol.pipe import Channel, Control
from app.worker.envs.rendering import draw, to_jpeg
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, the_environment
from app.worker.evaluation.player import Player
from app.worker.evaluation.video_recorder import Recorder, pace
from app.worker.models.models import build_for_playing, load_weights


def view(job: commands.View, channel: Channel, control: Control) -> None:
    """Send pictures until the lab says stop."""
    envs = make_evaluation_envs(job.setup, drawn=True)
    stage = the_environment(envs)
    show = _Show(build_for_playing(job.setup, envs), envs)
    control.weights_arrived.wait()
    steps_per_frame, fps = pace(stage, job.fps)
    recorder = Recorder(channel, control, fps)
    due = time.monotonic()
    while not control.stop_requested:
        if control.paused and show.has_begun:
            control.wait_while_paused(lambda: None)
        if taken := control.take_weights():
            show.learn_from(*taken)
        is_first = show.is_over
        header = show.advance(steps_per_frame)
        picture = draw(stage)
        channel.send_picture(header, to_jpeg(picture))
        recorder.see(picture, header, is_first=is_first, is_over=show.is_over)
        due = max(due + 1 / job.fps, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    channel.send(messages.Finished(reason="stopped"))
    envs.close()


class _Show:
    """One episode after another with the policy's current weights."""

    def __init__(self, model: BaseAlgorithm, envs: VecEnv) -> None:
        self._model = model
        self._envs = envs
        self._player = Player(model, envs, deterministic=False)
        self._trained_episodes = 0
        self.is_over = True
        """Whether the next step begins an episode."""
        self._step = 0
        self._reward = self._return = 0.0

    @property
    def has_begun(self) -> bool:
        """Whether there is anything to see."""
        return self._step > 0

    def learn_from(self, header: messages.WeightsHeader, weights: bytes) -> None:
        """Play with newer weights from the next step on."""
        load_weights(self._model, self._envs, weights)
        self._trained_episodes = header.episode

    def advance(self, steps: int) -> messages.FrameHeader:
        """Play some steps, or up to the end of the episode, and say where it stands."""
        if self.is_over:
            self._begin()
        for _ in range(steps):
            step = self._player.step()
            self._step += 1
            self._reward = step.reward
            self._return += step.reward
            self.is_over = step.is_over
            if self.is_over:
                break
        return messages.FrameHeader(
            kind="training",
            episode=self._trained_episodes,
            step=self._step,
            reward=self._reward,
            return_=self._return,
            agents={"agent": messages.AgentFrame(reward=self._reward, return_=self._return)},
        )

    def _begin(self) -> None:
        self._player.begin()
        self._step, self._reward, self._return, self.is_over = 0, 0.0, 0.0, False
