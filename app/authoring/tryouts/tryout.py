"""A tryout: an environment that a user watches or plays, in a sandboxed worker of its own."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from uuid import uuid4

from app.authoring.tryouts.actions import ActionSpace
from app.authoring.tryouts.errors import NothingToKeepError, TryoutEndedError, WrongModeError
from app.authoring.tryouts.recording import Recording
from app.catalog.environments import Action, EnvSpec
from app.core import InputError, Tasks
from app.core.events import Event
from app.protocol import TryoutMode, UserCodeError, commands, messages
from app.run_config import MAX_SEED
from app.runs.state import FrameHub
from app.workers import Job, JobError, ProtocolError, RenderedFrame, TooLongError

SPEEDS = (1.0, 0.5, 0.25)
"""Playback speeds, relative to the environment's own."""

_OPEN_WITHIN_S = 60.0
_MAX_UNDO = 20_000
"""With more steps, replaying the episode for an undo would take too long."""

_log = logging.getLogger(__name__)

_Command = type[commands.Act | commands.TakeBack | commands.StartOver | commands.SetMode]


def any_seed() -> int:
    """Return a random seed."""
    return secrets.randbelow(MAX_SEED + 1)


class Tryout:
    """Sends commands to a worker and holds the state that it reports."""

    def __init__(
        self,
        spec: EnvSpec,
        job: Job,
        *,
        mode: TryoutMode,
        silence_s: float,
        on_random_returns: Callable[[tuple[float, ...]], None],
    ) -> None:
        """`on_random_returns` receives measured returns of random actions."""
        self.id = uuid4().hex
        self.spec = spec
        self.mode = mode
        self.speed = 1.0
        self.frames = FrameHub()
        self.happened = Event[messages.Happened]()
        """Emitted after each step, undo and reset."""
        self.over = Event[str]()
        """Emitted with the reason when the tryout has ended."""
        self.ended = asyncio.Event()
        self.end_reason = ""
        self.is_disconnected = False
        """Whether its page has lost the connection."""
        self.recording = Recording()
        self.now: messages.Happened
        self.space: ActionSpace
        self.draws: bool
        self._job = job
        self._silence_s = silence_s
        self._on_random_returns = on_random_returns
        self._has_begun, self._is_waiting_for_key, self._orders = False, True, 0
        self._carried_out = asyncio.Condition()
        self._used_at = self._viewed_at = time.monotonic()
        self._tasks = Tasks()

    async def open(self, command: commands.TryOut) -> None:
        """Wait until the first episode of the environment has begun.

        Raises:
            TryoutEndedError: if that fails.
        """
        self._job.worker.send(messages.encode(command))
        try:
            async with asyncio.timeout(_OPEN_WITHIN_S):
                while not self._has_begun:
                    await self._take(await self._job.next())
        except (JobError, UserCodeError, TimeoutError) as error:
            reason = str(error) or f"it took longer than {_OPEN_WITHIN_S:g} s"
            raise TryoutEndedError(_sentence(self.spec, reason)) from error
        self._tasks.start(self._listen(), name=f"listen to tryout {self.id}")
        # Not bound to the client of the page: a tryout outlives a lost connection.
        changed = self.frames.viewers_changed
        changed.subscribe(self._viewers_changed, unsubscribe_on_delete=False)

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self.now.terminated or self.now.truncated

    @property
    def untouched_s(self) -> float:
        """Seconds since the last request."""
        return time.monotonic() - self._used_at

    @property
    def idle_s(self) -> float:
        """Seconds since the last request or viewer."""
        now = time.monotonic()
        return 0.0 if self.frames.viewers else now - max(self._used_at, self._viewed_at)

    async def step(self, action: object = None) -> messages.Happened:
        """Take a step; without an action, a random one.

        Raises:
            InputError: if the action is not in the action space.
            WrongModeError: if a random agent takes the steps, or the episode is over.
            TryoutEndedError: if the environment fails.
        """
        self._check_alive()
        checked = None if action is None else self.space.check(action, self.spec)
        if self.mode == "random":
            raise WrongModeError("A random agent takes the steps. Change the mode to step first.")
        if self.is_over:
            raise WrongModeError("The episode is over. Reset it, or undo the last step.")
        return await self._request(commands.Act, action=checked)

    async def back(self) -> messages.Happened:
        """Undo the last step by replaying the episode.

        Raises:
            WrongModeError: if there is nothing to undo.
            TryoutEndedError: if the environment fails.
        """
        self._check_alive()
        if self.mode == "random":
            raise WrongModeError("A random agent takes the steps. Change the mode to step first.")
        if not self.now.step:
            raise WrongModeError("This is the beginning of the episode.")
        if self.now.step > _MAX_UNDO:
            raise WrongModeError(f"After {_MAX_UNDO:,} steps no step can be undone.")
        return await self._request(commands.TakeBack)

    async def reset(self, seed: int | None = None) -> messages.Happened:
        """Begin an episode; without a seed, with the last one.

        Raises:
            InputError: if the seed is out of bounds.
        """
        self._check_alive()
        if seed is not None and not 0 <= seed <= MAX_SEED:
            raise InputError(f"seed must be from 0 to {MAX_SEED:,}, got {seed:,}.", field="seed")
        self._is_waiting_for_key = True
        return await self._request(commands.StartOver, seed=seed)

    async def configure(
        self, *, mode: TryoutMode | None = None, speed: float | None = None
    ) -> messages.Happened:
        """Change the mode and the speed.

        Raises:
            InputError: if the speed is not allowed.
        """
        self._check_alive()
        if speed is not None and speed not in SPEEDS:
            choices = ", ".join(f"{one:g}" for one in SPEEDS)
            raise InputError(f"speed must be one of {choices}, got {speed:g}.", field="speed")
        happened = await self._request(commands.SetMode, mode=mode, speed=speed)
        self.mode, self.speed = mode or self.mode, speed or self.speed
        self._is_waiting_for_key = True
        return happened

    def hold(self, actions: tuple[Action, ...], *, begins: bool) -> None:
        """Repeat these actions in turn from now on, in the mode `play`."""
        self._check_alive()
        self._used_at = time.monotonic()
        self._is_waiting_for_key = self._is_waiting_for_key and not begins
        self._send(commands.Hold(actions=actions, begins=begins))

    def check_can_be_saved(self) -> None:
        """Check that there is a complete episode to save.

        Raises:
            NothingToKeepError: if there is none.
        """
        if self.recording.is_too_long:
            raise NothingToKeepError("The episode is too long to save.")
        if not self.recording.can_be_saved:
            raise NothingToKeepError("There is no complete episode to save. Play one to its end.")

    async def close(self, reason: str = "The preview was ended.") -> None:
        """End the tryout and its worker."""
        self._note_end(reason)
        await self._tasks.cancel()
        self._job.worker.kill()
        await self._job.worker.wait()

    def end_soon(self, reason: str) -> None:
        """Mark the tryout as ended; the supervising task ends its worker."""
        self._note_end(reason)

    def _check_alive(self) -> None:
        if self.end_reason:
            raise TryoutEndedError(self.end_reason)

    def _send(self, order: commands.Order) -> None:
        self._job.worker.send(messages.encode(order))

    async def _request(self, kind: "_Command", **options: object) -> messages.Happened:
        """Send a command and wait until it was carried out."""
        self._used_at = time.monotonic()
        self._orders += 1
        number = self._orders
        self._send(kind(order=number, **options))  # type: ignore[arg-type]  # each has its own
        try:
            async with asyncio.timeout(self._silence_s), self._carried_out:
                await self._carried_out.wait_for(
                    lambda: self.now.order >= number or bool(self.end_reason)
                )
        except TimeoutError:
            await self._fail(f"it didn't answer within {self._silence_s:g} s")
        self._check_alive()
        return self.now

    async def _listen(self) -> None:
        """Handle the messages of the worker until it ends."""
        try:
            while True:
                within_s = self._silence_s if self._runs_by_itself else None
                await self._take(await self._job.next(within_s=within_s))
        except TooLongError:
            reason = f"it didn't continue within {self._silence_s:g} s"
        except (JobError, UserCodeError) as error:
            reason = str(error)
        self._job.worker.kill()
        await self._fail(reason)

    @property
    def _runs_by_itself(self) -> bool:
        if self.mode == "random":
            return True
        return self.mode == "play" and not self._is_waiting_for_key and not self.is_over

    async def _take(self, message: object) -> None:
        match message:
            case messages.Opened(lows=lows, highs=highs, draws=draws):
                self.space = ActionSpace(self.spec.action_kind, lows, highs)
                self.draws = draws
            case RenderedFrame(header=header, jpeg=jpeg):
                self.frames.publish(header, jpeg)
            case messages.Happened():
                self.now, self._has_begun = message, True
                if self.mode == "random":
                    # Not played by the user, and one message covers several steps.
                    self.recording = Recording()
                else:
                    self.recording.add(message)
                self.happened.emit(message)
                async with self._carried_out:
                    self._carried_out.notify_all()
            case messages.PlayedAtRandom(returns=returns):
                self._on_random_returns(returns)
            case _:
                raise ProtocolError(f"it sent {type(message).__name__}, which is not expected here")

    async def _fail(self, reason: str) -> None:
        _log.warning("Trying %s out ended: %s", self.spec.id, reason)
        self._job.worker.kill()
        self._note_end(_sentence(self.spec, reason))
        async with self._carried_out:
            self._carried_out.notify_all()

    def _note_end(self, reason: str) -> None:
        if self.end_reason:
            return
        self.end_reason = reason
        self.ended.set()
        self.over.emit(reason)

    def _viewers_changed(self) -> None:
        self._viewed_at = time.monotonic()
        if not self.end_reason:
            self._send(commands.SetRendering(on=self.frames.viewers > 0))


def _sentence(spec: EnvSpec, reason: str) -> str:
    return f"{spec.id} ended the preview: {reason.rstrip('.')}. Start again."
