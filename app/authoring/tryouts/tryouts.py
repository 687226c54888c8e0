"""Everybody's tryouts: who may have one, how many, and when each of them ends."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from app.accounts.errors import UnknownThingError
from app.accounts.visitors import Visitor
from app.authoring.tryouts.errors import NoRoomError, TooManyTryoutsError, TryoutEndedError
from app.authoring.tryouts.random_scores import RandomScores
from app.authoring.tryouts.tryout import Tryout, any_seed
from app.catalog.environments.spec import EnvSpec
from app.core.tasks import Tasks
from app.discovery.environment_finder import EnvironmentFinder
from app.protocol import commands, messages
from app.protocol.commands import TryoutMode
from app.workers.errors import NoWorkerError
from app.workers.job import Job
from app.workers.pool import WorkerPool

IDLE_S = 120.0
"""So long a tryout lasts while nobody asks for anything and nobody looks."""
_FORGOTTEN_S = 900.0
"""So long one lasts that somebody looks at, but does nothing with."""
_LEFT_S = 5.0
"""So long one lasts whose page was left: a lost connection may come back."""
_ABANDONED_S = 5.0
"""One that nobody looked at for so long makes room for a new one of the same person."""
_LOOK_EVERY_S = 1.0
_PLACE_WITHIN_S = 1.0
_LONGEST_SILENCE_S = 30.0
_REMEMBERED = 200

_IDLE = "The preview ended because nobody used it for a while. Start again."
_SIGNED_OUT = "The preview ended because you were signed out."
_SHUTDOWN = "The preview ended because the server was stopped."


class Places(Protocol):
    """What workers beside training share; as a context it is one of them."""

    def locked(self) -> bool:
        """Whether there is none left."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class _Held:
    """A tryout, whose it is, and what is given back when it ends."""

    tryout: Tryout
    owner: str | None
    held: AsyncExitStack


class Tryouts:
    """Starts tryouts in the workers that evaluations and live views share, and ends them."""

    def __init__(
        self,
        pool: WorkerPool,
        environments: EnvironmentFinder,
        slots: Places,
        random_scores: RandomScores,
        *,
        most: int,
        silence_s: float,
    ) -> None:
        self.random_scores = random_scores
        self._pool = pool
        self._environments = environments
        self._slots = slots
        self._most = most
        self._silence_s = min(silence_s, _LONGEST_SILENCE_S)
        self._open: dict[str, _Held] = {}
        self._ended: dict[str, tuple[str | None, str]] = {}
        self._of_each: Counter[str | None] = Counter()
        self._tasks = Tasks()

    async def start(
        self, visitor: Visitor, env_id: str, *, mode: TryoutMode, seed: int | None = None
    ) -> Tryout:
        """Let a visitor try an environment out.

        Raises:
            AccessError: if they may not, or there is no room, or the environment can't be made.
            InputError: if there is no such environment here.
        """
        visitor.check_works()
        self._environments.check_sees(visitor, env_id)
        spec = await self._environments.find(env_id, may_ask=True)
        spec.check_installed()
        await self._make_room(visitor)
        async with AsyncExitStack() as held:
            await self._take_slot(visitor, held)
            tryout = await self._open_one(spec, mode, any_seed() if seed is None else seed)
            if visitor.shown.is_over:
                await tryout.close(_SIGNED_OUT)
                visitor.check()
            held.enter_context(
                visitor.shown.telling(lambda: self._end_soon(tryout.id, _SIGNED_OUT))
            )
            self._open[tryout.id] = _Held(tryout, _id_of(visitor), held.pop_all())
        self._tasks.start(self._look_after(tryout), name=f"look after tryout {tryout.id}")
        return tryout

    def get(self, visitor: Visitor, tryout_id: str) -> Tryout:
        """Return a tryout of the visitor's own, to do something with it.

        Raises:
            AccessError: if they have none of this id, or it has ended.
        """
        visitor.check_works()
        return self.look(visitor, tryout_id)

    def look(self, visitor: Visitor, tryout_id: str) -> Tryout:
        """Return a tryout of the visitor's own, to look at it.

        Raises:
            AccessError: if they have none of this id, or it has ended.
        """
        visitor.check()
        found = self._open.get(tryout_id)
        if found is not None and found.owner == _id_of(visitor) and not found.tryout.why_ended:
            return found.tryout
        owner, why = self._ended.get(tryout_id, (None, ""))
        if why and owner == _id_of(visitor):
            raise TryoutEndedError(why)
        if found is not None and found.owner == _id_of(visitor):
            raise TryoutEndedError(found.tryout.why_ended)
        raise UnknownThingError(f"There is no preview {tryout_id[:40]!r}.")

    async def end(self, visitor: Visitor, tryout_id: str) -> None:
        """End a tryout of the visitor's own."""
        await self._end(self.get(visitor, tryout_id))

    async def end_by_id(self, tryout_id: str) -> None:
        """End a tryout whose page was closed, if it hasn't ended."""
        if (held := self._open.get(tryout_id)) is not None:
            await self._end(held.tryout)

    async def close(self) -> None:
        """End all of them."""
        for held in list(self._open.values()):
            await self._end(held.tryout, _SHUTDOWN)
        await self._tasks.cancel()

    async def _make_room(self, visitor: Visitor) -> None:
        """End what the visitor left behind, if there is no room beside it."""
        most = self._most_of(visitor)
        if self._of_each[_id_of(visitor)] < most and not self._slots.locked():
            return
        for held in list(self._open.values()):
            if held.owner == _id_of(visitor) and held.tryout.idle_s > _ABANDONED_S:
                await self._end(held.tryout, _IDLE)

    async def _take_slot(self, visitor: Visitor, held: AsyncExitStack) -> None:
        owner, most = _id_of(visitor), self._most_of(visitor)
        if self._of_each[owner] >= most:
            raise TooManyTryoutsError(most)
        if self._slots.locked():
            raise NoRoomError
        self._of_each[owner] += 1
        held.callback(self._forget_one, owner)
        try:
            # Somebody else may have been quicker.
            async with asyncio.timeout(_PLACE_WITHIN_S):
                await held.enter_async_context(self._slots)
        except TimeoutError:
            raise NoRoomError from None

    def _most_of(self, visitor: Visitor) -> int:
        """Where there are several people, none of them may take all."""
        return max(1, self._most if visitor.person is None else self._most - 1)

    def _forget_one(self, owner: str | None) -> None:
        self._of_each[owner] -= 1
        if not self._of_each[owner]:
            del self._of_each[owner]

    async def _open_one(self, spec: EnvSpec, mode: TryoutMode, seed: int) -> Tryout:
        known = await self.random_scores.get(spec.id)
        command = commands.TryOut(
            env_id=spec.id,
            seed=seed,
            mode=mode,
            draws=spec.renders,
            makes_anew=not spec.repeats_itself,
            measures_random=known is None,
            env_code=spec.code,
        )
        try:
            worker = await self._pool.start(patient=True)
        except NoWorkerError as error:
            raise TryoutEndedError(f"The worker could not be started: {error}.") from error
        tryout = Tryout(spec, Job(worker), mode=mode, silence_s=self._silence_s)
        tryout.on_random_returns = lambda returns: self._note_random(spec, returns)
        try:
            await tryout.open(command)
        except BaseException:
            await tryout.close()
            raise
        return tryout

    async def _look_after(self, tryout: Tryout) -> None:
        """Note what random episodes are worth, and end the tryout when it is time."""
        tryout.happened.subscribe(lambda now: self._note_random_episode(tryout, now))
        while not tryout.why_ended:
            try:
                async with asyncio.timeout(_LOOK_EVERY_S):
                    await tryout.ended.wait()
            except TimeoutError:
                patience = _LEFT_S if tryout.is_left else IDLE_S
                if tryout.idle_s > patience or tryout.untouched_s > _FORGOTTEN_S:
                    break
        await self._end(tryout, tryout.why_ended or _IDLE)

    def _note_random_episode(self, tryout: Tryout, now: messages.Happened) -> None:
        if tryout.mode == "random" and (now.terminated or now.truncated):
            self._note_random(tryout.spec, (now.return_,))

    def _note_random(self, spec: EnvSpec, returns: tuple[float, ...]) -> None:
        self._tasks.start(self.random_scores.add(spec.id, returns), name="keep random scores")

    def _end_soon(self, tryout_id: str, why: str) -> None:
        if (held := self._open.get(tryout_id)) is not None:
            held.tryout.end_soon(why)

    async def _end(self, tryout: Tryout, why: str = "The preview was ended.") -> None:
        held = self._open.pop(tryout.id, None)
        if held is None:
            return
        async with held.held:
            self._ended[tryout.id] = (held.owner, tryout.why_ended or why)
            for oldest in list(self._ended)[:-_REMEMBERED]:
                del self._ended[oldest]
            await tryout.close(why)


def _id_of(visitor: Visitor) -> str | None:
    return None if visitor.person is None else visitor.person.id
