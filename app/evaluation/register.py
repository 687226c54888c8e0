"""Evaluations and recordings from their beginning to their end: in memory, then on disk."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.core.events import Event
from app.core.tasks import Tasks
from app.evaluation.evaluation import Evaluation, EvaluationStatus, end_evaluation
from app.evaluation.shelf import EvaluationShelf, newest_first
from app.workers.video import Filmed
from storage.errors import EvaluationNotFoundError, NotWrittenError

_SERVER_ENDED = "The server ended while it was under way. Start it again."

_log = logging.getLogger(__name__)

_LastWords = Callable[[Evaluation], Awaitable[None]]


async def _silent(_: Evaluation) -> None:
    pass


@dataclass(slots=True)
class UnderWay:
    """One that isn't over, or whose end could not be stored."""

    evaluation: Evaluation
    over: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    is_ending: bool = False
    """Whether only its storing is left, which nobody can interrupt any more."""


class EvaluationRegister:
    """Knows all evaluations and recordings, and what becomes of those that are under way."""

    def __init__(self, shelf: EvaluationShelf) -> None:
        self.changed = Event[str]()
        """Something about the evaluations of the run with this id is new."""
        self._shelf = shelf
        self._known: dict[str, UnderWay] = {}
        self._tasks = Tasks()

    async def open(self) -> None:
        """Say of what an earlier server left that it failed."""
        await asyncio.to_thread(self._shelf.end_what_was_under_way, _SERVER_ENDED)

    async def close(self) -> None:
        """End what is under way, and say so."""
        for known in [*self._known.values()]:
            if known.is_ending:
                await known.over.wait()
            else:
                await self.end(known, EvaluationStatus.FAILED, _SERVER_ENDED)
        await self._tasks.cancel()

    def under_way(self) -> list[Evaluation]:
        """Return those that aren't over."""
        known = (one.evaluation for one in self._known.values())
        return [one for one in known if not one.status.is_over]

    async def begin(
        self, evaluation: Evaluation, follow: Callable[[UnderWay], Coroutine[Any, Any, None]]
    ) -> UnderWay:
        """Write down that one begins, and let `follow` bring it to its end.

        Raises:
            NotWrittenError: if it can't be written down; then nothing begins.
        """
        known = self._known[evaluation.id] = UnderWay(evaluation)
        try:
            await asyncio.to_thread(self._shelf.save, evaluation)
        except OSError as error:
            del self._known[evaluation.id]
            raise NotWrittenError(error.strerror or type(error).__name__) from error
        known.task = self._tasks.start(follow(known), name=f"evaluate {evaluation.run_id}")
        self.changed.emit(evaluation.run_id)
        return known

    async def change(self, known: UnderWay, **values: Any) -> None:
        """Show and store how one goes on."""
        known.evaluation = replace(known.evaluation, **values)
        self.changed.emit(known.evaluation.run_id)
        await asyncio.to_thread(self._shelf.save, known.evaluation)

    async def complete(
        self,
        known: UnderWay,
        found: Evaluation,
        filmed: Filmed,
        last_words: _LastWords = _silent,
    ) -> Evaluation:
        """Store what one found, and its video; who sees its end finds its last words, too.

        Raises:
            OSError: if it can't be stored.
        """
        known.is_ending = True
        note = filmed.said.why_not if filmed.said else found.video_note
        found = replace(end_evaluation(found, EvaluationStatus.COMPLETED), video_note=note)
        found = replace(found, pinned=known.evaluation.pinned)
        if (video := filmed.video) is not None:
            save = self._shelf.save_with_video
            found = await asyncio.to_thread(save, found, filmed, video)
        else:
            await asyncio.to_thread(self._shelf.save, found)
        await last_words(found)
        self._close(known, found)
        return found

    async def end(
        self,
        known: UnderWay,
        status: EvaluationStatus,
        reason: str | None = None,
        last_words: _LastWords = _silent,
    ) -> None:
        """End one early; if that can't be stored, those who ask see it all the same."""
        known.is_ending = True
        # A part of the episodes says nothing about the policy.
        ended = replace(known.evaluation, returns=(), lengths=())
        evaluation = end_evaluation(ended, status, reason)
        if known.task is not None and known.task is not asyncio.current_task():
            known.task.cancel()
            await asyncio.gather(known.task, return_exceptions=True)
        try:
            await asyncio.to_thread(self._shelf.save_without_video, evaluation)
            is_stored = True
        except OSError as error:
            _log.warning("The end of evaluation %s was not stored: %s", evaluation.id, error)
            is_stored = False
        await last_words(evaluation)
        self._close(known, evaluation, is_stored=is_stored)

    def find(self, evaluation_id: str) -> UnderWay | None:
        """Return one that can still be ended."""
        known = self._known.get(evaluation_id)
        return None if known is None or known.is_ending else known

    def forget_run(self, run_id: str) -> None:
        """End what is under way of a run that was deleted; its files are gone."""
        for known in [*self._known.values()]:
            if known.evaluation.run_id == run_id and known.task is not None:
                known.task.cancel()
                self._known.pop(known.evaluation.id, None)

    async def pin(self, run_id: str, evaluation_id: str, *, on: bool) -> Evaluation:
        """Keep a video for good, or let newer ones take its place."""
        evaluation = await self.get(run_id, evaluation_id)
        if (known := self._known.get(evaluation_id)) is not None:
            known.evaluation = pinned = replace(evaluation, pinned=on)
        else:
            pinned = await asyncio.to_thread(self._shelf.pin, evaluation, on=on)
        self.changed.emit(run_id)
        return pinned

    async def list(self, run_id: str) -> Sequence[Evaluation]:
        """Return the evaluations and recordings of a run, newest first."""
        # One that ends while the disk is read is not yet there, and no longer under way after it.
        before = self._under_way_of(run_id)
        stored = await asyncio.to_thread(self._shelf.load_all, run_id)
        found = before | {one.id: one for one in stored} | self._under_way_of(run_id)
        return newest_first(found.values())

    async def get(self, run_id: str, evaluation_id: str) -> Evaluation:
        """Return one of a run.

        Raises:
            EvaluationNotFoundError: if there is none of this id.
        """
        for evaluation in await self.list(run_id):
            if evaluation.id == evaluation_id:
                return evaluation
        raise EvaluationNotFoundError(evaluation_id)

    def video(self, evaluation: Evaluation) -> Path:
        """Return where the video of one lies that has one."""
        return self._shelf.files(evaluation.run_id).video(evaluation.id)

    async def replay(self, evaluation: Evaluation) -> bytes | None:
        """Return the steps of one as packed JSON, or None if they are gone."""
        return await asyncio.to_thread(self._shelf.files(evaluation.run_id).replay, evaluation.id)

    def _under_way_of(self, run_id: str) -> dict[str, Evaluation]:
        known = (one.evaluation for one in self._known.values())
        return {one.id: one for one in known if one.run_id == run_id}

    def _close(self, known: UnderWay, evaluation: Evaluation, *, is_stored: bool = True) -> None:
        known.evaluation = evaluation
        if is_stored:
            self._known.pop(evaluation.id, None)
        known.over.set()
        self.changed.emit(evaluation.run_id)
