"""The open tryouts of all users: limits per user, and when each of them ends."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from app.accounts import Principal, UnknownThingError
from app.authoring.tryouts.errors import NoFreeSlotError, TooManyTryoutsError, TryoutEndedError
from app.authoring.tryouts.random_scores import RandomScores
from app.authoring.tryouts.tryout import Tryout, any_seed
from app.catalog.environments import EnvSpec
from app.core import Tasks
from app.discovery import EnvironmentFinder
from app.protocol import TryoutMode, commands, messages
from app.workers import Job, NoWorkerError, WorkerPool
from storage.files import LabFolder

IDLE_S = 120.0
"""A tryout without requests and viewers ends after this time."""
_UNTOUCHED_S = 900.0
"""A tryout that is viewed but receives no requests ends after this time."""
_DISCONNECTED_S = 5.0
"""A tryout whose page is disconnected ends after this time: the page may reconnect."""
_ABANDONED_S = 5.0
"""A tryout that is idle for this time is ended if its user starts another one."""
_CHECK_EVERY_S = 1.0
_SLOT_WITHIN_S = 1.0
_LONGEST_SILENCE_S = 30.0
_REMEMBERED = 200

_IDLE = "The preview ended because it was not used for a while. Start again."
_SIGNED_OUT = "The preview ended because you were signed out."
_SHUTDOWN = "The preview ended because the server was stopped."


@dataclass(frozen=True, slots=True)
class _OpenTryout:
    """A tryout, its owner, and the resources to release when it ends."""

    tryout: Tryout
    owner: str | None
    resources: AsyncExitStack


class Tryouts:
    """Starts tryouts in side slots, and ends them."""

    def __init__(
        self,
        folder: LabFolder,
        pool: WorkerPool,
        environments: EnvironmentFinder,
        *,
        limit: int,
        silence_s: float,
    ) -> None:
        self.random_scores = RandomScores(folder)
        self._pool = pool
        self._environments = environments
        self._slots = pool.side_slots
        self._limit = limit
        self._silence_s = min(silence_s, _LONGEST_SILENCE_S)
        self._open: dict[str, _OpenTryout] = {}
        self._ended: dict[str, tuple[str | None, str]] = {}
        self._counts: Counter[str | None] = Counter()
        self._tasks = Tasks()

    async def start(
        self, principal: Principal, env_id: str, *, mode: TryoutMode, seed: int | None = None
    ) -> Tryout:
        """Start a tryout of an environment.

        Raises:
            AccessError: if the principal may not, no slot is free, or the environment fails.
            InputError: if the environment does not exist.
        """
        principal.check_works()
        self._environments.check_sees(principal, env_id)
        spec = await self._environments.find(env_id, ask_worker=True)
        spec.check_installed()
        await self._end_abandoned(principal)
        async with AsyncExitStack() as resources:
            await self._acquire_slot(principal, resources)
            tryout = await self._open_one(spec, mode, any_seed() if seed is None else seed)
            if principal.credential.is_over:
                await tryout.close(_SIGNED_OUT)
                principal.check()
            resources.enter_context(
                principal.credential.calling_at_end(lambda: self._end_soon(tryout.id, _SIGNED_OUT))
            )
            self._open[tryout.id] = _OpenTryout(tryout, principal.id, resources.pop_all())
        self._tasks.start(self._supervise(tryout), name=f"supervise tryout {tryout.id}")
        return tryout

    def get(self, principal: Principal, tryout_id: str) -> Tryout:
        """Return a tryout of the principal for a change.

        Raises:
            AccessError: if they have none with this id, or it has ended.
        """
        principal.check_works()
        return self.look(principal, tryout_id)

    def look(self, principal: Principal, tryout_id: str) -> Tryout:
        """Return a tryout of the principal for reading.

        Raises:
            AccessError: if they have none with this id, or it has ended.
        """
        principal.check()
        found = self._open.get(tryout_id)
        if found is not None and found.owner == principal.id and not found.tryout.end_reason:
            return found.tryout
        owner, reason = self._ended.get(tryout_id, (None, ""))
        if reason and owner == principal.id:
            raise TryoutEndedError(reason)
        if found is not None and found.owner == principal.id:
            raise TryoutEndedError(found.tryout.end_reason)
        raise UnknownThingError(f"There is no preview {tryout_id[:40]!r}.")

    async def end(self, principal: Principal, tryout_id: str) -> None:
        """End a tryout of the principal."""
        await self._end(self.get(principal, tryout_id))

    async def end_by_id(self, tryout_id: str) -> None:
        """End a tryout whose page was closed, unless it has ended."""
        if (entry := self._open.get(tryout_id)) is not None:
            await self._end(entry.tryout)

    async def close(self) -> None:
        """End all of them."""
        for entry in list(self._open.values()):
            await self._end(entry.tryout, _SHUTDOWN)
        await self._tasks.cancel()

    async def _end_abandoned(self, principal: Principal) -> None:
        """End idle tryouts of the principal if a new one would exceed a limit."""
        limit = self._limit_of(principal)
        if self._counts[principal.id] < limit and not self._slots.locked():
            return
        for entry in list(self._open.values()):
            if entry.owner == principal.id and entry.tryout.idle_s > _ABANDONED_S:
                await self._end(entry.tryout, _IDLE)

    async def _acquire_slot(self, principal: Principal, resources: AsyncExitStack) -> None:
        owner, limit = principal.id, self._limit_of(principal)
        if self._counts[owner] >= limit:
            raise TooManyTryoutsError(limit)
        if self._slots.locked():
            raise NoFreeSlotError
        self._counts[owner] += 1
        resources.callback(self._release, owner)
        try:
            # Another request may have taken the slot.
            async with asyncio.timeout(_SLOT_WITHIN_S):
                await resources.enter_async_context(self._slots)
        except TimeoutError:
            raise NoFreeSlotError from None

    def _limit_of(self, principal: Principal) -> int:
        """Return the limit of a user: with accounts, no user may occupy all slots."""
        return max(1, self._limit if principal.user is None else self._limit - 1)

    def _release(self, owner: str | None) -> None:
        self._counts[owner] -= 1
        if not self._counts[owner]:
            del self._counts[owner]

    async def _open_one(self, spec: EnvSpec, mode: TryoutMode, seed: int) -> Tryout:
        known = await self.random_scores.get(spec.id)
        command = commands.TryOut(
            env_id=spec.id,
            seed=seed,
            mode=mode,
            draws=spec.renders,
            new_env_each=not spec.repeats_itself,
            measures_random=known is None,
            env_code=spec.code,
        )
        try:
            worker = await self._pool.start(low_priority=True)
        except NoWorkerError as error:
            raise TryoutEndedError(f"The worker could not be started: {error}.") from error
        tryout = Tryout(
            spec,
            Job(worker),
            mode=mode,
            silence_s=self._silence_s,
            on_random_returns=partial(self._note_random, spec),
        )
        try:
            await tryout.open(command)
        except BaseException:
            await tryout.close()
            raise
        return tryout

    async def _supervise(self, tryout: Tryout) -> None:
        """Store returns of random episodes, and end the tryout after its time limits."""
        tryout.happened.subscribe(lambda now: self._note_random_episode(tryout, now))
        while not tryout.end_reason:
            try:
                async with asyncio.timeout(_CHECK_EVERY_S):
                    await tryout.ended.wait()
            except TimeoutError:
                limit = _DISCONNECTED_S if tryout.is_disconnected else IDLE_S
                if tryout.idle_s > limit or tryout.untouched_s > _UNTOUCHED_S:
                    break
        await self._end(tryout, tryout.end_reason or _IDLE)

    def _note_random_episode(self, tryout: Tryout, now: messages.Happened) -> None:
        if tryout.mode == "random" and (now.terminated or now.truncated):
            self._note_random(tryout.spec, (now.return_,))

    def _note_random(self, spec: EnvSpec, returns: tuple[float, ...]) -> None:
        self._tasks.start(self.random_scores.add(spec.id, returns), name="store random scores")

    def _end_soon(self, tryout_id: str, reason: str) -> None:
        if (entry := self._open.get(tryout_id)) is not None:
            entry.tryout.end_soon(reason)

    async def _end(self, tryout: Tryout, reason: str = "The preview was ended.") -> None:
        entry = self._open.pop(tryout.id, None)
        if entry is None:
            return
        async with entry.resources:
            self._ended[tryout.id] = (entry.owner, tryout.end_reason or reason)
            for oldest in list(self._ended)[:-_REMEMBERED]:
                del self._ended[oldest]
            await tryout.close(reason)
