"""The stage of an evaluation: shown to those who look at a pace for eyes, and filmed."""

import time
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from app.protocol import commands, messages
from app.protocol.pipe import Channel, Control
from app.worker.envs.rendering import KeepsLastPicture, Pixels, draw, to_jpeg
from app.worker.evaluation.player import Step

if TYPE_CHECKING:
    from app.worker.evaluation.mp4_writer import Mp4Writer

_USUAL_FPS = 30
"""How many steps a second look natural where the environment doesn't say."""
_MOST_FPS = 30
_NATURAL_FOR_S = 60.0
"""So long an evaluation is shown at its natural pace; what is left is played faster."""
_HOLD_S = 0.4
"""So long a film stays on the last picture of an episode."""


class VideoRecorder:
    """Draws an evaluation only as far as somebody looks or a film is wanted."""

    def __init__(
        self, env: KeepsLastPicture, channel: Channel, control: Control, job: commands.Evaluate
    ) -> None:
        self._env = env
        self._channel = channel
        self._control = control
        self._episodes = job.episodes
        self._steps_per_frame, self._fps = pace(env, _MOST_FPS)
        self._film = new_film(self._fps) if job.films else None
        self._why_not: str | None = None
        self._shown_s = 0.0
        self._newest = 0
        self._due = 0.0
        self._episode = self._step = 0
        self._reward = self._return = 0.0
        env.is_drawn = False

    def begin(self, episode: int) -> None:
        """Show the first moment of an episode."""
        self._episode, self._step = episode, 0
        self._reward = self._return = 0.0
        self._look()
        self._env.is_drawn = self._is_wanted

    def advance(self, step: Step) -> None:
        """Show what a step brought, if it is time for a picture."""
        self._step += 1
        self._reward = step.reward
        self._return += step.reward
        if step.is_over or self._step % self._steps_per_frame == 0:
            self._look(is_last=step.is_over)
        # The last picture of an episode has to be kept before anybody asks for it.
        self._env.is_drawn = self._is_wanted

    @property
    def picture(self) -> int | None:
        """Which picture of the film shows the moment that was drawn last, if one does."""
        film = self._film
        is_filmed = film is not None and film.pictures > 0 and not film.is_cut
        return self._newest if is_filmed and self._why_not is None else None

    def deliver(self) -> None:
        """Send the film, or say why there is none."""
        if self._film is not None:
            deliver_film(self._film, self._channel, why_not=self._why_not)

    @property
    def _is_wanted(self) -> bool:
        if self._why_not is not None:
            return False
        films = self._film is not None and not self._film.is_cut
        return films or self._control.watched

    def _look(self, *, is_last: bool = False) -> None:
        if not self._is_wanted:
            return
        try:
            picture = draw(self._env)
            self._add_to_film(picture, is_last=is_last)
        except Exception as error:  # noqa: BLE001 - foreign code draws; the numbers count without it
            self._why_not = f"The environment could not be drawn: {error}"[: messages.MAX_TEXT]
            return
        if self._control.watched:
            self._show(picture)

    def _add_to_film(self, picture: Pixels, *, is_last: bool) -> None:
        if self._film is None:
            return
        self._newest = self._film.pictures
        for _ in range(1 + round(_HOLD_S * self._film.fps) if is_last else 1):
            self._film.add(picture)

    def _show(self, picture: Pixels) -> None:
        now = time.monotonic()
        is_natural = self._shown_s < _NATURAL_FOR_S
        if not is_natural and now < self._due:
            return
        header = messages.FrameHeader(
            kind="evaluation",
            episode=self._episode,
            episodes=self._episodes,
            step=self._step,
            reward=self._reward,
            return_=self._return,
            agents={"agent": messages.AgentFrame(reward=self._reward, return_=self._return)},
        )
        self._channel.send_picture(header, to_jpeg(picture))
        between = 1 / self._fps if is_natural else 1 / _MOST_FPS
        if is_natural:
            self._shown_s += between
            time.sleep(max(0.0, self._due - now))
        self._due = max(self._due, now) + between


class Recorder:
    """Films one whole episode of the live view when it is asked to."""

    def __init__(self, channel: Channel, control: Control, fps: float) -> None:
        self._channel = channel
        self._control = control
        self._fps = fps
        self._film: Mp4Writer | None = None

    def see(
        self, picture: Pixels, shown: messages.FrameHeader, *, is_first: bool, is_over: bool
    ) -> None:
        """Look at a picture of the live view, and keep it if its episode is wanted."""
        if self._film is None and is_first and self._control.is_asked_to_film:
            self._control.is_asked_to_film = False
            self._film = new_film(self._fps)
        if self._film is None:
            return
        self._film.add(picture)
        if is_over or self._film.is_cut:
            deliver_film(self._film, self._channel)
            played = messages.Played(episodes=1, returned=shown.return_, length=shown.step)
            self._channel.send(played)
            self._film = None


def pace(env: gym.Env[Any, Any], most_fps: int) -> tuple[int, float]:
    """Return after how many steps to draw, and how many pictures a second then look natural."""
    told = env.metadata.get("render_fps") or _USUAL_FPS
    speed = min(240.0, max(1.0, float(told)))
    steps_per_frame = max(1, round(speed / most_fps))
    return steps_per_frame, speed / steps_per_frame


def new_film(fps: float) -> "Mp4Writer":
    """Begin a film."""
    # Not earlier: who only looks doesn't need the encoder's hundred megabytes.
    from app.worker.evaluation.mp4_writer import Mp4Writer

    return Mp4Writer(fps)


def deliver_film(film: "Mp4Writer", channel: Channel, *, why_not: str | None = None) -> None:
    """Send a film to the lab, with what there is to know of it."""
    content = film.finish()
    if film.is_cut and why_not is None:
        seconds = float(film.pictures / film.fps)
        why_not = f"The video ends after {seconds:,.0f} s; the play went on."
    channel.send(
        messages.Filmed(
            pictures=film.pictures,
            fps=float(film.fps),
            width=film.width,
            height=film.height,
            is_cut=film.is_cut,
            why_not=why_not,
        )
    )
    if content:
        channel.send_file("video.mp4", content)
