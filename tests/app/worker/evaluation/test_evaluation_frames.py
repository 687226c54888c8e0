"""Frames and videos of evaluations, for environments that render all kinds of values."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import msgspec
import numpy as np
import pytest

from app.protocol import commands, framing, messages
from app.protocol.pipe import Channel
from app.worker.envs.rendering import KeepsLastFrame
from app.worker.evaluation import frames
from app.worker.evaluation.evaluate import Recording
from app.worker.evaluation.player import TimeStep
from tests.app.worker.evaluation.test_mp4_writer import decode

Draw = Callable[[int], Any]


class RenderingEnv(gym.Env[Any, Any]):
    """An environment that renders the given values."""

    observation_space = action_space = gym.spaces.Discrete(2)

    def __init__(self, draw: Draw, **metadata: Any) -> None:
        self.metadata = metadata
        self.render_count = 0
        self._draw = draw

    def render(self) -> Any:
        self.render_count += 1
        return self._draw(self.render_count)


class Line:
    """The lab's end of the pipe: received messages, and whether there are viewers."""

    def __init__(self, path: Path, *, watched: bool = False) -> None:
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
        self.channel: Any = Channel(self._descriptor)
        self.watched = watched

    def received(self) -> list[tuple[bytes, bytes]]:
        end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        frames = []
        while os.lseek(self._descriptor, 0, os.SEEK_CUR) < end:
            frames.append(framing.read(self._descriptor))
        return frames

    def video(self) -> tuple[messages.VideoRecorded, bytes]:
        (header,) = (content for tag, content in self.received() if tag == framing.JSON)
        pieces = [content for tag, content in self.received() if tag == framing.BLOB]
        content = b"".join(framing.split_header(piece)[1] for piece in pieces)
        return msgspec.json.decode(header, type=messages.VideoRecorded), content


def play(line: Line, env: RenderingEnv, *, steps: int = 10, records_video: bool = True) -> None:
    setup = commands.Setup(env_id="any", algorithm="PPO", hyperparameters={})
    job = commands.Evaluate(setup=setup, renders=True, records_video=records_video)
    control: Any = line
    recording = Recording(job, KeepsLastFrame(env), line.channel, control, episodes=1)
    for number in range(steps + 1):
        rewards, returns = {"agent": float(number > 0)}, {"agent": float(number)}
        recording.add(
            TimeStep(
                episode=1,
                number=number,
                rewards=rewards,
                returns=returns,
                is_over=number == steps,
            )
        )
    recording.send()


class Ending(RenderingEnv):
    """An environment whose episodes end with the first step."""

    def reset(self, **_: Any) -> tuple[int, dict[str, Any]]:
        return 0, {}

    def step(self, _: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return 0, 0.0, True, False, {}


def test_a_last_frame_that_nobody_asked_for_is_not_shown_in_the_next_episode() -> None:
    env = KeepsLastFrame(Ending(lambda count: count))
    env.step(0)
    env.needs_frames = False
    env.reset()

    env.step(0)

    assert env.render() == 2


def grey(_: int) -> Any:
    return np.full((40, 60, 3), 120, np.uint8)


def test_nothing_is_rendered_without_viewers_and_video(tmp_path: Path) -> None:
    line, env = Line(tmp_path / "line"), RenderingEnv(grey)

    play(line, env, records_video=False)

    assert env.render_count == 0
    assert line.received() == []


def test_a_video_plays_at_the_frame_rate_of_the_environment(tmp_path: Path) -> None:
    line = Line(tmp_path / "line")

    play(line, RenderingEnv(grey, render_fps=50), steps=50)

    header, content = line.video()
    # The first frame, every second step, and the last frame held for 10 frames.
    assert (header.fps, header.frames) == (25.0, 1 + 25 + 10)
    assert (header.width, header.height, header.is_cut, header.why_not) == (60, 40, False, None)
    assert len(decode(content)[1]) == header.frames


def test_viewers_see_episodes_and_rewards(tmp_path: Path) -> None:
    line = Line(tmp_path / "line", watched=True)

    play(line, RenderingEnv(grey, render_fps=200), records_video=False)

    headers = [framing.split_header(content)[0] for tag, content in line.received()]
    frames = [msgspec.json.decode(head, type=messages.FrameHeader) for head in headers]
    assert {(one.kind, one.episode, one.episodes) for one in frames} == {("evaluation", 1, 1)}
    assert [one.return_ for one in frames] == [0.0, 7.0, 10.0]


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda _: None, "render() returned NoneType, not an array."),
        (lambda _: "[1;31m#", "render() returned str, not an array."),
        (lambda _: np.zeros(5), "not an image."),
        (lambda _: 1 / 0, "division by zero"),
    ],
)
def test_a_rendering_error_loses_only_the_video(tmp_path: Path, draw: Draw, sentence: str) -> None:
    line, env = Line(tmp_path / "line"), RenderingEnv(draw)

    play(line, env)

    header, content = line.video()
    assert header.frames == 0
    assert content == b""
    assert "The environment could not be rendered" in (header.why_not or "")
    assert sentence in (header.why_not or "")
    assert env.render_count == 1


def test_frames_that_change_their_size_fit_into_the_video(tmp_path: Path) -> None:
    line = Line(tmp_path / "line")

    play(line, RenderingEnv(lambda n: np.full((40 + 7 * n, 61), n / 20, np.float32)))

    header, content = line.video()
    _, pictures = decode(content)
    assert header.why_not is None
    assert {picture.shape for picture in pictures} == {(46, 60, 3)}


def test_videos_of_long_episodes_are_cut_with_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, env = Line(tmp_path / "line"), RenderingEnv(grey, render_fps=10)
    monkeypatch.setattr("app.worker.evaluation.mp4_writer.MAX_SECONDS", 3)

    play(line, env, steps=100)

    header, content = line.video()
    assert header.is_cut
    assert header.why_not == "The video ends after 3 s; the episodes continued."
    assert header.frames == len(decode(content)[1]) == 30
    # Frames beyond the end of the video are not rendered.
    assert env.render_count == 31


def test_a_long_evaluation_is_shown_faster_than_real_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Line(tmp_path / "line", watched=True)
    monkeypatch.setattr(frames, "_REAL_TIME_FOR_S", 0.2)

    play(line, RenderingEnv(grey, render_fps=1), steps=3_600, records_video=False)

    assert 1 <= len(line.received()) < 3_600


def test_a_frame_header_has_the_rewards_of_each_agent_by_name() -> None:
    step = TimeStep(
        episode=2,
        number=5,
        rewards={"red": 1.0, "blue": -0.5},
        returns={"red": 4.0, "blue": 2.0},
    )

    header = frames.frame_header(step, "evaluation", step.episode, episodes=3)

    assert (header.step, header.reward, header.return_) == (5, 0.5, 6.0)
    assert header.agents["red"] == messages.AgentFrame(reward=1.0, return_=4.0)
    assert header.agents["blue"] == messages.AgentFrame(reward=-0.5, return_=2.0)
