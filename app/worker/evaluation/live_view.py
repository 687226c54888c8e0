"""Play the newest policy in real time for viewers while it is trained."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.protocol import Channel, Control, commands, messages
from app.worker.envs.rendering import Pixels, render_frame, to_jpeg
from app.worker.envs.vectorized.pipeline import make_evaluation_envs, single_env
from app.worker.evaluation.frames import frame_header, is_frame, pace
from app.worker.evaluation.player import Player, Policy, TimeStep
from app.worker.evaluation.video_recorder import new_video, send_video
from app.worker.models.models import build_for_playing, load_weights

if TYPE_CHECKING:
    from app.worker.evaluation.mp4_writer import Mp4Writer


def view(job: commands.View, channel: Channel, control: Control) -> None:
    """Send frames until the web process requests the stop."""
    envs = make_evaluation_envs(job.setup, rendered=True)
    env = single_env(envs)
    model = build_for_playing(job.setup, envs)
    player = Player(envs, {messages.AGENT: Policy(model, deterministic=False)})
    control.weights_arrived.wait()
    steps_per_frame, fps = pace(env, job.fps)
    shown_steps = _shown_steps(player, steps_per_frame)
    recorder = _EpisodeRecorder(channel, control, steps_per_frame, fps)
    trained_episodes, has_begun = 0, False
    due = time.monotonic()
    while not control.stop_requested:
        if control.paused and has_begun:
            control.wait_while_paused(lambda: None)
        if taken := control.take_weights():
            load_weights(model, envs, taken[1])
            trained_episodes = taken[0].episode
        step, has_begun = next(shown_steps), True
        frame = render_frame(env)
        channel.send_frame(frame_header(step, "training", trained_episodes), to_jpeg(frame))
        recorder.add(frame, step)
        due = max(due + 1 / job.fps, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    channel.send(messages.Finished(reason="stopped"))
    envs.close()


def _shown_steps(player: Player, steps_per_frame: int) -> Iterator[TimeStep]:
    """Play one episode after another, and yield the steps that get a frame."""
    while True:
        for step in player.play_episode():
            if step.number and is_frame(step, steps_per_frame):
                yield step


class _EpisodeRecorder:
    """Records one whole episode of the live view on request."""

    def __init__(
        self, channel: Channel, control: Control, steps_per_frame: int, fps: float
    ) -> None:
        self._channel = channel
        self._control = control
        self._steps_per_frame = steps_per_frame
        self._fps = fps
        self._video: Mp4Writer | None = None

    def add(self, frame: Pixels, step: TimeStep) -> None:
        """Receive a frame of the live view, and record it if its episode is recorded."""
        is_first = step.number <= self._steps_per_frame
        if self._video is None and is_first and self._control.video_requested:
            self._control.video_requested = False
            self._video = new_video(self._fps)
        if self._video is None:
            return
        self._video.add(frame)
        if step.is_over or self._video.is_cut:
            send_video(self._video, self._channel)
            played = messages.Played(episodes=1, returned=step.return_, length=step.number)
            self._channel.send(played)
            self._video = None
