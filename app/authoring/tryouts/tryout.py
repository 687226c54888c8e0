"""One environment that somebody tries out, in a locked worker of its own."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from uuid import uuid4

from app.authoring.tryouts.actions import ActionSpace
from app.authoring.tryouts.errors import NothingToKeepError, TryoutEndedError, WrongModeError
from app.authoring.tryouts.recording import Recording
from app.catalog.environments.key_maps import Action
from app.catalog.environments.spec import EnvSpec
from app.core.errors import InputError
from app.core.events import Event
from app.core.tasks import Tasks
from app.protocol import commands, messages
from app.protocol.commands import TryoutMode
from app.protocol.user_code import UserCodeError
from app.run_config.config import MAX_SEED
from app.runs.state.frames import FrameHub
from app.workers.errors import JobError, ProtocolError, TooLongError
from app.workers.job import Job
from app.workers.local_worker import Shown

SPEEDS = (1.0, 0.5, 0.25)
"""Parts of its own speed that an environment can be played at."""

_OPEN_WITHIN_S = 60.0
_LARGEST_BACK = 20_000
"""Beyond so many steps it would take too long to play an episode again."""

_log = logging.getLogger(__name__)

_Order = type[commands.Act | commands.TakeBack | commands.StartOver | commands.Conduct]


def any_seed() -> int:
    """Draw a seed."""
    return secrets.randbelow(MAX_SEED + 1)


class Tryout:
    """Passes orders on to a worker and keeps what it says."""

    def __init__(self, spec: EnvSpec, job: Job, *, mode: TryoutMode, silence_s: float) -> None:
        self.id = uuid4().hex
        self.spec = spec
        self.mode = mode
        self.speed = 1.0
        self.frames = FrameHub()
        self.happened = Event[messages.Happened]()
        """Something was done, or taken back, or an episode began."""
        self.over = Event[str]()
        """It can't be tried out any further; the sentence says why."""
        self.ended = asyncio.Event()
        self.why_ended = ""
        self.is_left = False
        """Whether the page that it belongs to has lost its connection."""
        self.on_random_returns: Callable[[tuple[float, ...]], None] = lambda _: None
        """Hears what random actions brought, once that was measured."""
        self.recording = Recording()
        self.now: messages.Happened
        self.space: ActionSpace
        self.draws: bool
        self._job = job
        self._silence_s = silence_s
        self._has_begun, self._is_waiting_for_key, self._orders = False, True, 0
        self._carried_out = asyncio.Condition()
        self._used_at = self._looked_at = time.monotonic()
        self._tasks = Tasks()

    async def open(self, command: commands.TryOut) -> None:
        """Wait until the environment stands at the beginning of its first episode.

        Raises:
            TryoutEndedError: if it doesn't get there.
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
        self.frames.on_viewers = self._viewers_changed

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self.now.terminated or self.now.truncated

    @property
    def untouched_s(self) -> float:
        """Seconds since anybody asked for something."""
        return time.monotonic() - self._used_at

    @property
    def idle_s(self) -> float:
        """Seconds since anybody asked for something or looked."""
        now = time.monotonic()
        return 0.0 if self.frames.viewers else now - max(self._used_at, self._looked_at)

    async def step(self, action: object = None) -> messages.Happened:
        """Take a step, with a random action where none is given.

        Raises:
            InputError: if the action can't be done.
            WrongModeError: if steps are taken by somebody else, or the episode is over.
            TryoutEndedError: if the environment doesn't survive it.
        """
        self._check_alive()
        checked = None if action is None else self.space.check(action, self.spec)
        if self.mode == "random":
            raise WrongModeError("A random agent takes the steps. Change the mode to step first.")
        if self.is_over:
            raise WrongModeError("The episode is over. Reset it, or take the last step back.")
        return await self._ask(commands.Act, action=checked)

    async def back(self) -> messages.Happened:
        """Take the last step back: the episode is played again up to there.

        Raises:
            WrongModeError: if there is nothing to take back.
            TryoutEndedError: if the environment doesn't survive it.
        """
        self._check_alive()
        if self.mode == "random":
            raise WrongModeError("A random agent takes the steps. Change the mode to step first.")
        if not self.now.step:
            raise WrongModeError("This is the beginning of the episode.")
        if self.now.step > _LARGEST_BACK:
            raise WrongModeError(f"After {_LARGEST_BACK:,} steps none can be taken back.")
        return await self._ask(commands.TakeBack)

    async def reset(self, seed: int | None = None) -> messages.Happened:
        """Begin an episode, with the same seed where no other is given.

        Raises:
            InputError: if the seed is out of bounds.
        """
        self._check_alive()
        if seed is not None and not 0 <= seed <= MAX_SEED:
            raise InputError(f"seed must be from 0 to {MAX_SEED:,}, got {seed:,}.", field="seed")
        self._is_waiting_for_key = True
        return await self._ask(commands.StartOver, seed=seed)

    async def conduct(
        self, *, mode: TryoutMode | None = None, speed: float | None = None
    ) -> messages.Happened:
        """Change who acts, and how fast.

        Raises:
            InputError: if the environment can't be played at this speed.
        """
        self._check_alive()
        if speed is not None and speed not in SPEEDS:
            choices = ", ".join(f"{one:g}" for one in SPEEDS)
            raise InputError(f"speed must be one of {choices}, got {speed:g}.", field="speed")
        happened = await self._ask(commands.Conduct, mode=mode, speed=speed)
        self.mode, self.speed = mode or self.mode, speed or self.speed
        self._is_waiting_for_key = True
        return happened

    def hold(self, actions: tuple[Action, ...], *, begins: bool) -> None:
        """Let these be done in turn at every step from now on, in the mode `play`."""
        self._check_alive()
        self._used_at = time.monotonic()
        self._is_waiting_for_key = self._is_waiting_for_key and not begins
        self._send(commands.Hold(actions=actions, begins=begins))

    def check_can_be_kept(self) -> None:
        """Make sure that there is a whole episode to keep.

        Raises:
            NothingToKeepError: if there isn't.
        """
        if self.recording.is_too_long:
            raise NothingToKeepError("The episode is too long to keep.")
        if not self.recording.can_be_kept:
            raise NothingToKeepError("There is no whole episode to keep. Play one to its end.")

    async def close(self, why: str = "The preview was ended.") -> None:
        """End the worker; nothing more can be asked for."""
        self._note_end(why)
        await self._tasks.cancel()
        self._job.worker.kill()
        await self._job.worker.wait()

    def end_soon(self, why: str) -> None:
        """Let nothing more happen; whoever looks after it ends the worker."""
        self._note_end(why)

    def _check_alive(self) -> None:
        if self.why_ended:
            raise TryoutEndedError(self.why_ended)

    def _send(self, order: commands.Order) -> None:
        self._job.worker.send(messages.encode(order))

    async def _ask(self, kind: "_Order", **wishes: object) -> messages.Happened:
        """Give an order and wait until it was carried out."""
        self._used_at = time.monotonic()
        self._orders += 1
        number = self._orders
        self._send(kind(order=number, **wishes))  # type: ignore[arg-type]  # each has its own
        try:
            async with asyncio.timeout(self._silence_s), self._carried_out:
                await self._carried_out.wait_for(
                    lambda: self.now.order >= number or bool(self.why_ended)
                )
        except TimeoutError:
            await self._fail(f"it didn't answer within {self._silence_s:g} s")
        self._check_alive()
        return self.now

    async def _listen(self) -> None:
        """Take what the worker says until it is gone."""
        try:
            while True:
                within_s = self._silence_s if self._goes_by_itself else None
                await self._take(await self._job.next(within_s=within_s))
        except TooLongError:
            reason = f"it didn't go on within {self._silence_s:g} s"
        except (JobError, UserCodeError) as error:
            reason = str(error)
        self._job.worker.kill()
        await self._fail(reason)

    @property
    def _goes_by_itself(self) -> bool:
        if self.mode == "random":
            return True
        return self.mode == "play" and not self._is_waiting_for_key and not self.is_over

    async def _take(self, said: object) -> None:
        match said:
            case messages.Opened(lows=lows, highs=highs, draws=draws):
                self.space = ActionSpace(self.spec.action_kind, lows, highs)
                self.draws = draws
            case Shown(header=header, jpeg=jpeg):
                self.frames.publish(header, jpeg)
            case messages.Happened():
                self.now, self._has_begun = said, True
                if self.mode == "random":
                    # Nobody's doing; and several steps are told of at once.
                    self.recording = Recording()
                else:
                    self.recording.add(said)
                self.happened.emit(said)
                async with self._carried_out:
                    self._carried_out.notify_all()
            case messages.PlayedAtRandom(returns=returns):
                self.on_random_returns(returns)
            case _:
                raise ProtocolError(f"it sent {type(said).__name__}, which makes no sense here")

    async def _fail(self, reason: str) -> None:
        _log.warning("Trying %s out ended: %s", self.spec.id, reason)
        self._job.worker.kill()
        self._note_end(_sentence(self.spec, reason))
        async with self._carried_out:
            self._carried_out.notify_all()

    def _note_end(self, why: str) -> None:
        if self.why_ended:
            return
        self.why_ended = why
        self.ended.set()
        self.over.emit(why)

    def _viewers_changed(self) -> None:
        self._looked_at = time.monotonic()
        if not self.why_ended:
            self._send(commands.Look(on=self.frames.viewers > 0))


def _sentence(spec: EnvSpec, reason: str) -> str:
    return f"{spec.id} ended the preview: {reason.rstrip('.')}. Start again."
