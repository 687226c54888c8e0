"""Let a person try an environment out: watch a random agent, take steps, or play it."""

import time
import traceback
from typing import Any

import gymnasium as gym

from app.protocol import commands, messages
from app.protocol.pipe import Channel, Control
from app.worker.envs.environments import make_env
from app.worker.envs.rendering import draw, to_jpeg
from app.worker.tryout.episode import Episode, action_bounds
from app.worker.tryout.random_play import RandomPlay

_USUAL_FPS = 30.0
"""How many steps a second look natural where the environment doesn't say."""
_ATARI_FPS = 15.0
"""A quarter of what the console drew, because a step of the agent is four of its pictures."""
_FASTEST = 60.0
_WATCHED_FPS = 15.0
_PLAYED_FPS = 30.0
_REST_S = 1.0
"""So long the end of a random episode is shown before the next one begins."""
_SEEDS = 2**32
_SPARE_S = 0.02
"""Where nothing is due for so long, there is time to measure something."""


def try_out(job: commands.TryOut, channel: Channel, control: Control) -> None:
    """Do as the orders say until the lab ends the worker."""
    tryout = _Tryout(job, channel)
    tryout.open()
    measured = RandomPlay(lambda: _make(job, draws=False)) if job.measures_random else None
    while not control.stop_requested:
        wait = tryout.until_next
        has_time = measured is not None and (wait is None or wait > _SPARE_S)
        order = control.next_order(0.0 if has_time else wait)
        if order is not None:
            tryout.obey(order)
        elif measured is None or not has_time:
            tryout.go_on()
        else:
            measured.go_on(_SPARE_S)
            if measured.is_over:
                channel.send(messages.PlayedAtRandom(returns=tuple(measured.returns)))
                measured = None


class _Tryout:
    """One environment, and who acts in it."""

    def __init__(self, job: commands.TryOut, channel: Channel) -> None:
        self._job = job
        self._channel = channel
        self._episode = Episode(lambda: _make(job), makes_anew=job.makes_anew)
        self._fps = _own_speed(self._episode.env)
        self._mode = job.mode
        self._speed = 1.0
        self._number = 1
        self._order = 0
        self._held: tuple[messages.Action, ...] = ()
        self._is_waiting = True
        self._is_looked_at = True
        self._draws = False
        self._due: float | None = None
        self._drawn_at = 0.0

    def open(self) -> None:
        """Begin the first episode and say what there is."""
        self._episode.begin(self._job.seed)
        lows, highs = action_bounds(self._episode.env.action_space)
        self._draws = self._job.draws and _can_be_drawn(self._episode.env)
        opened = messages.Opened(lows=lows, highs=highs, fps=self._fps, draws=self._draws)
        self._channel.send(opened)
        self._tell()
        self._is_looked_at = False
        self._plan()

    @property
    def until_next(self) -> float | None:
        """Seconds until the next step by itself; None: it waits for an order."""
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def obey(self, order: commands.Order) -> None:
        """Do what is asked."""
        match order:
            case commands.Hold(actions=actions, begins=begins):
                self._held = actions
                self._is_waiting = self._is_waiting and not begins
            case commands.Look(on=on):
                self._is_looked_at = on
                if on:
                    self._draw()
            case _:
                self._carry_out(order)
        self._plan()

    def go_on(self) -> None:
        """Take the steps that are due."""
        due = self._due
        if self._mode == "random":
            self._go_on_at_random()
        else:
            step = self._episode.now.step
            self._episode.act(self._held[step % len(self._held)])
            now = time.monotonic()
            is_time = now - self._drawn_at >= 1 / _PLAYED_FPS
            self._tell(drawn=is_time or self._episode.now.is_over)
        self._plan(since=due)

    def _carry_out(
        self, order: commands.Act | commands.TakeBack | commands.StartOver | commands.Conduct
    ) -> None:
        is_exact = True
        match order:
            case commands.Act(action=action):
                if not self._episode.now.is_over:
                    self._episode.act(action)
            case commands.TakeBack():
                if self._episode.now.step:
                    is_exact = self._episode.take_back()
            case commands.StartOver(seed=seed):
                self._begin(self._episode.seed if seed is None else seed)
            case commands.Conduct(mode=mode, speed=speed):
                self._mode = mode or self._mode
                self._speed = speed or self._speed
                self._is_waiting, self._due = True, None
        self._order = order.order
        self._tell(is_exact=is_exact)

    def _go_on_at_random(self) -> None:
        if self._episode.now.is_over:
            self._begin((self._episode.seed + 1) % _SEEDS)
        else:
            for _ in range(max(1, round(self._fps / _WATCHED_FPS))):
                if self._episode.act().is_over:
                    break
        self._tell()

    def _begin(self, seed: int) -> None:
        self._episode.begin(seed)
        self._number += 1
        self._is_waiting = True

    def _plan(self, *, since: float | None = None) -> None:
        """Set when the next step is due; what was planned before stays so."""
        pause = self._pause_s()
        if pause is None:
            self._due = None
        elif since is not None:
            self._due = max(since + pause, time.monotonic())
        elif self._due is None:
            self._due = time.monotonic() + pause

    def _pause_s(self) -> float | None:
        is_over = self._episode.now.is_over
        if self._mode == "random":
            return _REST_S if is_over else 1 / (min(self._fps, _WATCHED_FPS) * self._speed)
        if self._mode == "step" or is_over or self._is_waiting or not self._held:
            return None
        return 1 / (self._fps * self._speed)

    def _tell(self, *, drawn: bool = True, is_exact: bool = True) -> None:
        now = self._episode.now
        if drawn and self._is_looked_at:
            self._draw()
        self._channel.send(
            messages.Happened(
                order=self._order,
                episode=self._number,
                step=now.step,
                seed=self._episode.seed,
                action=now.action,
                observation=now.observation,
                reward=now.reward,
                return_=now.return_,
                terminated=now.terminated,
                truncated=now.truncated,
                info=now.info,
                is_exact=is_exact,
            )
        )

    def _draw(self) -> None:
        if not self._draws:
            return
        now = self._episode.now
        header = messages.FrameHeader(
            kind="preview",
            episode=self._number,
            step=now.step,
            reward=now.reward,
            return_=now.return_,
            agents={"agent": messages.AgentFrame(reward=now.reward, return_=now.return_)},
        )
        self._channel.send_picture(header, to_jpeg(draw(self._episode.env)))
        self._drawn_at = time.monotonic()


def _make(job: commands.TryOut, *, draws: bool = True) -> gym.Env[Any, Any]:
    """Make the environment as an agent meets it, with the game's own rewards and whole episodes."""
    draws = draws and job.draws
    return make_env(job.env_id, {}, drawn=draws, judged=True, counted=not draws)


def _can_be_drawn(env: gym.Env[Any, Any]) -> bool:
    """Try it: what claims to draw may need a screen; its state can be shown all the same."""
    try:
        draw(env)
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        traceback.print_exc()
        return False
    return True


def _own_speed(env: gym.Env[Any, Any]) -> float:
    if env.spec is not None and str(env.spec.entry_point).startswith("ale_py"):
        return _ATARI_FPS
    fps = env.metadata.get("render_fps") or _USUAL_FPS
    return min(max(float(fps), 1.0), _FASTEST)
