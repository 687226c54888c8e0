"""Render episodes: decide which time steps get a frame, and pass frames to their sinks."""

import time
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import gymnasium as gym

from app.protocol import Channel, Control, messages
from app.worker.envs.rendering import KeepsLastFrame, Pixels, render_frame, to_jpeg
from app.worker.evaluation.player import TimeStep

MAX_FPS = 30
"""Maximum frame rate of evaluations and videos."""
_DEFAULT_FPS = 30
"""Steps per second in real time if the environment doesn't define `render_fps`."""
_REAL_TIME_FOR_S = 60.0
"""How long an evaluation is shown in real time; the rest is played faster."""


class FrameSink(Protocol):
    """Receives frames of an episode while it wants them."""

    @property
    def wants_frames(self) -> bool:
        """Whether it accepts the next frame."""

    def add(self, frame: Pixels, step: TimeStep) -> None:
        """Receive a frame."""


class Renderer:
    """Renders an environment, but only while one of its sinks wants frames."""

    def __init__(
        self,
        env: KeepsLastFrame,
        sinks: Sequence[FrameSink],
        *,
        steps_per_frame: int,
        is_optional: bool = False,
    ) -> None:
        """Render `env` for `sinks`; if it `is_optional`, an error only ends the rendering."""
        self._env = env
        self._sinks = sinks
        self._steps_per_frame = steps_per_frame
        self._is_optional = is_optional
        self.error: str | None = None
        """Why there are no more frames."""

    def add(self, step: TimeStep) -> None:
        """Render the environment if this step gets a frame."""
        if is_frame(step, self._steps_per_frame):
            try:
                self._draw(step)
            except Exception as error:
                if not self._is_optional:
                    raise
                text = f"The environment could not be rendered: {error}"
                self.error, self._sinks = text[: messages.MAX_TEXT], ()
        # The environment must keep the last frame of an episode before it is requested.
        self._env.needs_frames = any(sink.wants_frames for sink in self._sinks)

    def _draw(self, step: TimeStep) -> None:
        if not any(sink.wants_frames for sink in self._sinks):
            return
        frame = render_frame(self._env)
        for sink in self._sinks:
            if sink.wants_frames:
                sink.add(frame, step)


class FrameSender:
    """Sends frames of an evaluation to viewers: first in real time, later faster."""

    def __init__(self, channel: Channel, control: Control, *, fps: float, episodes: int) -> None:
        self._channel = channel
        self._control = control
        self._fps = fps
        self._episodes = episodes
        self._shown_s = 0.0
        self._due = 0.0

    @property
    def wants_frames(self) -> bool:
        """Whether there is a viewer."""
        return self._control.watched

    def add(self, frame: Pixels, step: TimeStep) -> None:
        """Send a frame, and sleep to keep to real time."""
        now = time.monotonic()
        is_real_time = self._shown_s < _REAL_TIME_FOR_S
        if not is_real_time and now < self._due:
            return
        header = frame_header(step, "evaluation", step.episode, episodes=self._episodes)
        self._channel.send_frame(header, to_jpeg(frame))
        interval = 1 / self._fps if is_real_time else 1 / MAX_FPS
        if is_real_time:
            self._shown_s += interval
            time.sleep(max(0.0, self._due - now))
        self._due = max(self._due, now) + interval


def frame_header(
    step: TimeStep,
    kind: Literal["training", "evaluation"],
    episode: int,
    *,
    episodes: int | None = None,
) -> messages.FrameHeader:
    """Return the header of the frame of a time step."""
    return messages.FrameHeader(
        kind=kind,
        episode=episode,
        episodes=episodes,
        step=step.number,
        reward=step.reward,
        return_=step.return_,
        agents={
            name: messages.AgentFrame(reward=reward, return_=step.returns[name])
            for name, reward in step.rewards.items()
        },
    )


def is_frame(step: TimeStep, steps_per_frame: int) -> bool:
    """Whether a time step gets a frame."""
    return step.is_over or step.number % steps_per_frame == 0


def pace(env: gym.Env[Any, Any], max_fps: int) -> tuple[int, float]:
    """Return the number of steps per frame, and the frame rate that is real time with it."""
    render_fps = env.metadata.get("render_fps") or _DEFAULT_FPS
    steps_per_second = min(240.0, max(1.0, float(render_fps)))
    steps_per_frame = max(1, round(steps_per_second / max_fps))
    return steps_per_frame, steps_per_second / steps_per_frame
