"""Let a user try out an environment: watch a random agent, take single steps, or play it."""

import time
import traceback
from typing import Any

import gymnasium as gym

from app.protocol import Channel, Control, commands, messages
from app.worker.envs.environments import make_env
from app.worker.envs.rendering import render_frame, to_jpeg
from app.worker.tryout.episode import Episode, action_bounds
from app.worker.tryout.random_play import RandomPlay

_DEFAULT_FPS = 30.0
"""Steps per second in real time if the environment doesn't define `render_fps`."""
_ATARI_FPS = 15.0
"""A quarter of the console's frame rate, because a step of the agent takes four frames."""
_MAX_FPS = 60.0
_WATCHED_FPS = 15.0
_PLAYED_FPS = 30.0
_EPISODE_PAUSE_S = 1.0
"""How long the end of a random episode is shown before the next one begins."""
_SEEDS = 2**32
_IDLE_SLICE_S = 0.02
"""If no step is due for this long, random play is measured meanwhile."""


def try_out(job: commands.TryOut, channel: Channel, control: Control) -> None:
    """Carry out orders until the web process ends the worker."""
    tryout = _Tryout(job, channel)
    tryout.open()
    random_play = RandomPlay(lambda: _make(job, draws=False)) if job.measures_random else None
    while not control.stop_requested:
        wait = tryout.until_next
        is_idle = random_play is not None and (wait is None or wait > _IDLE_SLICE_S)
        order = control.next_order(0.0 if is_idle else wait)
        if order is not None:
            tryout.handle(order)
        elif random_play is None or not is_idle:
            tryout.take_due_steps()
        else:
            random_play.play_for(_IDLE_SLICE_S)
            if random_play.is_over:
                channel.send(messages.PlayedAtRandom(returns=tuple(random_play.returns)))
                random_play = None


class _Tryout:
    """One environment, played at random or by a user."""

    def __init__(self, job: commands.TryOut, channel: Channel) -> None:
        self._job = job
        self._channel = channel
        self._episode = Episode(lambda: _make(job), new_env_each=job.new_env_each)
        self._fps = _steps_per_second(self._episode.env)
        self._mode = job.mode
        self._speed = 1.0
        self._episode_number = 1
        self._order = 0
        self._held_actions: tuple[messages.Action, ...] = ()
        self._waits_for_key = True
        self._is_watched = True
        self._draws = False
        self._due: float | None = None
        self._drawn_at = 0.0

    def open(self) -> None:
        """Start the first episode; report the action bounds, the speed and the first state."""
        self._episode.begin(self._job.seed)
        lows, highs = action_bounds(self._episode.env.action_space)
        self._draws = self._job.draws and _can_be_drawn(self._episode.env)
        opened = messages.Opened(lows=lows, highs=highs, fps=self._fps, draws=self._draws)
        self._channel.send(opened)
        self._report()
        self._is_watched = False
        self._schedule_next()

    @property
    def until_next(self) -> float | None:
        """Seconds until the next automatic step; None if it waits for an order."""
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def handle(self, order: commands.Order) -> None:
        """Carry out an order."""
        match order:
            case commands.Hold(actions=actions, begins=begins):
                self._held_actions = actions
                self._waits_for_key = self._waits_for_key and not begins
            case commands.SetRendering(on=on):
                self._is_watched = on
                if on:
                    self._draw()
            case _:
                self._carry_out(order)
        self._schedule_next()

    def take_due_steps(self) -> None:
        """Take the steps that are due."""
        due = self._due
        if self._mode == "random":
            self._take_random_steps()
        else:
            step = self._episode.current.step
            self._episode.act(self._held_actions[step % len(self._held_actions)])
            now = time.monotonic()
            is_time = now - self._drawn_at >= 1 / _PLAYED_FPS
            self._report(drawn=is_time or self._episode.current.is_over)
        self._schedule_next(since=due)

    def _carry_out(
        self, order: commands.Act | commands.TakeBack | commands.StartOver | commands.SetMode
    ) -> None:
        is_exact = True
        match order:
            case commands.Act(action=action):
                if not self._episode.current.is_over:
                    self._episode.act(action)
            case commands.TakeBack():
                if self._episode.current.step:
                    is_exact = self._episode.undo_step()
            case commands.StartOver(seed=seed):
                self._begin(self._episode.seed if seed is None else seed)
            case commands.SetMode(mode=mode, speed=speed):
                self._mode = mode or self._mode
                self._speed = speed or self._speed
                self._waits_for_key, self._due = True, None
        self._order = order.order
        self._report(is_exact=is_exact)

    def _take_random_steps(self) -> None:
        if self._episode.current.is_over:
            self._begin((self._episode.seed + 1) % _SEEDS)
        else:
            for _ in range(max(1, round(self._fps / _WATCHED_FPS))):
                if self._episode.act().is_over:
                    break
        self._report()

    def _begin(self, seed: int) -> None:
        self._episode.begin(seed)
        self._episode_number += 1
        self._waits_for_key = True

    def _schedule_next(self, *, since: float | None = None) -> None:
        """Set when the next step is due, unless one is scheduled already."""
        pause = self._pause_s()
        if pause is None:
            self._due = None
        elif since is not None:
            self._due = max(since + pause, time.monotonic())
        elif self._due is None:
            self._due = time.monotonic() + pause

    def _pause_s(self) -> float | None:
        is_over = self._episode.current.is_over
        if self._mode == "random":
            return _EPISODE_PAUSE_S if is_over else 1 / (min(self._fps, _WATCHED_FPS) * self._speed)
        if self._mode == "step" or is_over or self._waits_for_key or not self._held_actions:
            return None
        return 1 / (self._fps * self._speed)

    def _report(self, *, drawn: bool = True, is_exact: bool = True) -> None:
        current = self._episode.current
        if drawn and self._is_watched:
            self._draw()
        self._channel.send(
            messages.Happened(
                order=self._order,
                episode=self._episode_number,
                step=current.step,
                seed=self._episode.seed,
                action=current.action,
                observation=current.observation,
                reward=current.reward,
                return_=current.return_,
                terminated=current.terminated,
                truncated=current.truncated,
                info=current.info,
                is_exact=is_exact,
            )
        )

    def _draw(self) -> None:
        if not self._draws:
            return
        current = self._episode.current
        agent = messages.AgentFrame(reward=current.reward, return_=current.return_)
        header = messages.FrameHeader(
            kind="preview",
            episode=self._episode_number,
            step=current.step,
            reward=current.reward,
            return_=current.return_,
            agents={messages.AGENT: agent},
        )
        self._channel.send_frame(header, to_jpeg(render_frame(self._episode.env)))
        self._drawn_at = time.monotonic()


def _make(job: commands.TryOut, *, draws: bool = True) -> gym.Env[Any, Any]:
    """Make the environment as for an evaluation: unclipped rewards and whole episodes."""
    draws = draws and job.draws
    return make_env(job.env_id, {}, rendered=draws, evaluated=True, unmonitored=not draws)


def _can_be_drawn(env: gym.Env[Any, Any]) -> bool:
    """Try to render: an environment may need a display; its state can be shown even then."""
    try:
        render_frame(env)
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        traceback.print_exc()
        return False
    return True


def _steps_per_second(env: gym.Env[Any, Any]) -> float:
    """Return how many steps per second are real time for this environment."""
    if env.spec is not None and str(env.spec.entry_point).startswith("ale_py"):
        return _ATARI_FPS
    fps = env.metadata.get("render_fps") or _DEFAULT_FPS
    return min(max(float(fps), 1.0), _MAX_FPS)
