"""What an evaluation shows and films, with environments that draw all kinds of things."""

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
from app.worker.envs.rendering import KeepsLastPicture
from app.worker.evaluation import video_recorder
from app.worker.evaluation.player import Step
from app.worker.evaluation.video_recorder import VideoRecorder
from tests.app.worker.evaluation.test_film import opened

Draw = Callable[[int], Any]


class Drawn(gym.Env[Any, Any]):
    """An environment that draws what it is told to."""

    observation_space = action_space = gym.spaces.Discrete(2)

    def __init__(self, draw: Draw, **metadata: Any) -> None:
        self.metadata = metadata
        self.drawn = 0
        self._draw = draw

    def render(self) -> Any:
        self.drawn += 1
        return self._draw(self.drawn)


class Line:
    """What the lab would hear and say."""

    def __init__(self, path: Path, *, watched: bool = False) -> None:
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
        self.channel: Any = Channel(self._descriptor)
        self.watched = watched

    def heard(self) -> list[tuple[bytes, bytes]]:
        end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        found = []
        while os.lseek(self._descriptor, 0, os.SEEK_CUR) < end:
            found.append(framing.read(self._descriptor))
        return found

    def filmed(self) -> tuple[messages.Filmed, bytes]:
        (told,) = (content for tag, content in self.heard() if tag == framing.JSON)
        pieces = [content for tag, content in self.heard() if tag == framing.BLOB]
        content = b"".join(framing.split_header(piece)[1] for piece in pieces)
        return msgspec.json.decode(told, type=messages.Filmed), content


def play(line: Line, env: Drawn, *, steps: int = 10, films: bool = True) -> None:
    setup = commands.Setup(env_id="any", algorithm="PPO", hyperparameters={})
    job = commands.Evaluate(setup=setup, episodes=1, seed=0, drawn=True, films=films)
    control: Any = line
    shown = VideoRecorder(KeepsLastPicture(env), line.channel, control, job)
    shown.begin(1)
    for step in range(1, steps + 1):
        shown.advance(Step(reward=1.0, is_over=step == steps, was_cut=False))
    shown.deliver()


def grey(_: int) -> Any:
    return np.full((40, 60, 3), 120, np.uint8)


def test_nothing_is_drawn_while_nobody_looks_and_no_film_is_wanted(tmp_path: Path) -> None:
    line, env = Line(tmp_path / "line"), Drawn(grey)

    play(line, env, films=False)

    assert env.drawn == 0
    assert line.heard() == []


def test_a_film_runs_at_the_pace_of_the_environment(tmp_path: Path) -> None:
    line = Line(tmp_path / "line")

    play(line, Drawn(grey, render_fps=50), steps=50)

    told, content = line.filmed()
    # Every second step, the beginning, and a moment on the last picture.
    assert (told.fps, told.pictures) == (25.0, 1 + 25 + 10)
    assert (told.width, told.height, told.is_cut, told.why_not) == (60, 40, False, None)
    assert len(opened(content)[1]) == told.pictures


def test_who_looks_sees_episodes_and_rewards(tmp_path: Path) -> None:
    line = Line(tmp_path / "line", watched=True)

    play(line, Drawn(grey, render_fps=200), films=False)

    heads = [framing.split_header(content)[0] for tag, content in line.heard()]
    shown = [msgspec.json.decode(head, type=messages.FrameHeader) for head in heads]
    assert {(one.kind, one.episode, one.episodes) for one in shown} == {("evaluation", 1, 1)}
    assert [one.return_ for one in shown] == [0.0, 7.0, 10.0]


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda _: None, "render() returned NoneType, not an array."),
        (lambda _: "[1;31m#", "render() returned str, not an array."),
        (lambda _: np.zeros(5), "not a picture."),
        (lambda _: 1 / 0, "division by zero"),
    ],
)
def test_what_can_not_be_drawn_costs_the_video_only(
    tmp_path: Path, draw: Draw, sentence: str
) -> None:
    line, env = Line(tmp_path / "line"), Drawn(draw)

    play(line, env)

    told, content = line.filmed()
    assert told.pictures == 0
    assert content == b""
    assert "The environment could not be drawn" in (told.why_not or "")
    assert sentence in (told.why_not or "")
    assert env.drawn == 1


def test_a_picture_that_changes_its_size_stays_in_the_film(tmp_path: Path) -> None:
    line = Line(tmp_path / "line")

    play(line, Drawn(lambda n: np.full((40 + 7 * n, 61), n / 20, np.float32)))

    told, content = line.filmed()
    _, pictures = opened(content)
    assert told.why_not is None
    assert {picture.shape for picture in pictures} == {(46, 60, 3)}


def test_long_episodes_are_cut_and_it_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, env = Line(tmp_path / "line"), Drawn(grey, render_fps=10)
    monkeypatch.setattr("app.worker.evaluation.mp4_writer.MOST_SECONDS", 3)

    play(line, env, steps=100)

    told, content = line.filmed()
    assert told.is_cut
    assert told.why_not == "The video ends after 3 s; the play went on."
    assert told.pictures == len(opened(content)[1]) == 30
    # Nothing is drawn that nobody will see.
    assert env.drawn == 31


def test_a_test_is_not_watched_at_its_natural_pace_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Line(tmp_path / "line", watched=True)
    monkeypatch.setattr(video_recorder, "_NATURAL_FOR_S", 0.2)

    play(line, Drawn(grey, render_fps=1), steps=3_600, films=False)

    assert 1 <= len(line.heard()) < 3_600
