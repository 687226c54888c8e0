"""All evaluations and recordings: active ones in memory, finished ones also on disk."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from app.core import InputError, Tasks
from app.core.events import Event
from app.evaluation.evaluation import Evaluation, EvaluationStatus, end_evaluation, log_entry
from app.evaluation.records import EvaluationRecords
from app.protocol import UserCodeError
from app.workers import JobError, RecordedVideo, WorkerGoneError
from storage import EvaluationNotFoundError, NotWrittenError, RunNotFoundError, WrongStateError
from storage.files import LabFolder, folders_with_pending_evaluations

RUNS_IN_MEMORY = 64

_SERVER_ENDED = "The server ended during the evaluation. Start it again."

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class ActiveEvaluation:
    """An evaluation that hasn't ended, or whose end could not be stored."""

    evaluation: Evaluation
    over: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    is_ending: bool = False
    """Whether it is already storing its result, which can't be cancelled."""


Work = Callable[[ActiveEvaluation], Coroutine[Any, Any, None]]
"""Carries an evaluation out; an exception marks it as failed."""
Log = Callable[..., Awaitable[None]]
"""Adds an event to a run's log."""


class EvaluationStore:
    """Owns the state of evaluations: each change is stored on disk before it is announced."""

    def __init__(self, folder: LabFolder, log: Log, *, videos_kept: int) -> None:
        self.changed = Event[str]()
        """Emits the id of a run whose evaluations changed."""
        self._folder = folder
        self._add_to_log = log
        self._videos_kept = videos_kept
        self._active: dict[str, ActiveEvaluation] = {}
        self._recent: OrderedDict[str, EvaluationRecords] = OrderedDict()
        """Records of the most recently used runs; older ones are evicted."""
        self._in_use: WeakValueDictionary[str, EvaluationRecords] = WeakValueDictionary()
        """Also evicted ones that are still being written, so that a run never has two."""
        self._tasks = Tasks()

    async def open(self) -> None:
        """Mark the evaluations that an earlier server left unfinished as failed."""
        left = await asyncio.to_thread(folders_with_pending_evaluations, self._folder.path)
        for path in left:
            await asyncio.to_thread(self._records(path.name).fail_pending, _SERVER_ENDED)

    async def close(self) -> None:
        """End all active evaluations and mark them as failed."""
        for active in [*self._active.values()]:
            if active.is_ending:
                await active.over.wait()
            else:
                await self.end(active, EvaluationStatus.FAILED, _SERVER_ENDED, is_logged=False)
        await self._tasks.cancel()

    def active(self) -> list[Evaluation]:
        """Return the evaluations that haven't ended."""
        evaluations = (one.evaluation for one in self._active.values())
        return [one for one in evaluations if not one.status.is_over]

    async def begin(self, evaluation: Evaluation, work: Work) -> ActiveEvaluation:
        """Store a new evaluation and start `work`, which carries it out.

        Raises:
            NotWrittenError: if it can't be stored; then nothing is started.
            RunNotFoundError: if the run was deleted meanwhile.
        """
        active = self._active[evaluation.id] = ActiveEvaluation(evaluation)
        await self._tasks.complete(self._begin(active, work))
        return active

    async def _begin(self, active: ActiveEvaluation, work: Work) -> None:
        run_id = active.evaluation.run_id
        try:
            await self._save(active.evaluation)
        except OSError as error:
            self._active.pop(active.evaluation.id, None)
            raise NotWrittenError(error.strerror or type(error).__name__) from error
        if active.over.is_set():
            raise RunNotFoundError(run_id)
        if not active.is_ending:
            active.task = self._tasks.start(
                self._carry_out(active, work), name=f"evaluate {run_id}"
            )
        self.changed.emit(run_id)

    async def change(self, active: ActiveEvaluation, **values: Any) -> None:
        """Store and announce changed values of an evaluation."""
        await self._save(replace(active.evaluation, **values))
        active.evaluation = replace(active.evaluation, **values)
        self.changed.emit(active.evaluation.run_id)

    async def complete(
        self,
        active: ActiveEvaluation,
        found: Evaluation,
        recorded: RecordedVideo,
        *,
        before_end: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Store the results of an evaluation, and its video.

        `before_end` is done before anyone sees that the evaluation is over.

        Raises:
            OSError: if they can't be stored.
        """
        active.is_ending = True
        note = recorded.header.why_not if recorded.header else found.video_note
        found = replace(found, video_note=note, pinned=active.evaluation.pinned)
        found = end_evaluation(found, EvaluationStatus.COMPLETED)
        saved = await self._save(found, recorded)
        if before_end is not None:
            await before_end()
        await self._close(active, saved)

    async def end(
        self,
        active: ActiveEvaluation,
        status: EvaluationStatus,
        reason: str | None = None,
        *,
        line: int | None = None,
        is_logged: bool = True,
    ) -> None:
        """End an evaluation early; if that can't be stored, it is still reported as ended."""
        active.is_ending = True
        if active.task is asyncio.current_task():
            active.task = None
        ending = self._end(active, status, reason, line=line, is_logged=is_logged)
        await self._tasks.complete(ending)

    async def _end(
        self,
        active: ActiveEvaluation,
        status: EvaluationStatus,
        reason: str | None,
        *,
        line: int | None,
        is_logged: bool,
    ) -> None:
        # Results of only some of the episodes would be misleading.
        ended = replace(active.evaluation, returns=(), lengths=(), error_line=line)
        ended = end_evaluation(ended, status, reason)
        if active.task is not None:
            active.task.cancel()
            await asyncio.gather(active.task, return_exceptions=True)
        is_stored = True
        try:
            await self._save(ended)
        except OSError as error:
            _log.warning("The end of evaluation %s was not stored: %s", ended.id, error)
            is_stored = False
        await self._close(active, ended, is_stored=is_stored, is_logged=is_logged)

    def find(self, evaluation_id: str) -> ActiveEvaluation | None:
        """Return an evaluation that can still be cancelled."""
        active = self._active.get(evaluation_id)
        return None if active is None or active.is_ending else active

    def drop_run(self, run_id: str) -> None:
        """Cancel the active evaluations of a deleted run, whose files are gone."""
        for active in [*self._active.values()]:
            if active.evaluation.run_id == run_id:
                self._active.pop(active.evaluation.id, None)
                if active.task is not None:
                    active.task.cancel()
                cancelled, reason = EvaluationStatus.CANCELLED, "Its run was deleted."
                active.evaluation = end_evaluation(active.evaluation, cancelled, reason)
                active.over.set()
        self._recent.pop(run_id, None)
        self._in_use.pop(run_id, None)

    async def pin(self, run_id: str, evaluation_id: str, *, on: bool) -> Evaluation:
        """Pin a video, or unpin it so that newer ones may replace it."""
        await self.get(run_id, evaluation_id)
        active = self._active.get(evaluation_id)
        if active is not None and active.is_ending:
            await active.over.wait()
        if active is not None and evaluation_id in self._active:
            pinned = active.evaluation = replace(active.evaluation, pinned=on)
        else:
            pinned = await asyncio.to_thread(self._records(run_id).pin, evaluation_id, on=on)
        self.changed.emit(run_id)
        return pinned

    async def list(self, run_id: str) -> Sequence[Evaluation]:
        """Return the evaluations and recordings of a run, newest first."""
        found = (await self._all(run_id)).values()
        return sorted(found, key=lambda one: one.created_at, reverse=True)

    async def get(self, run_id: str, evaluation_id: str) -> Evaluation:
        """Return one evaluation of a run.

        Raises:
            EvaluationNotFoundError: if there is none of this id.
        """
        found = (await self._all(run_id)).get(evaluation_id)
        if found is None:
            raise EvaluationNotFoundError(evaluation_id)
        return found

    def video(self, evaluation: Evaluation) -> Path:
        """Return the path of the video of an evaluation that has one."""
        return self._records(evaluation.run_id).files.video(evaluation.id)

    async def replay(self, evaluation: Evaluation) -> bytes | None:
        """Return the steps of an evaluation as compressed JSON, or None if they were removed."""
        files = self._records(evaluation.run_id).files
        return await asyncio.to_thread(files.replay, evaluation.id)

    async def _all(self, run_id: str) -> dict[str, Evaluation]:
        records = self._records(run_id)
        # Also those that end while the disk is read.
        active = dict(self._active)
        over = records.known
        if over is None:
            read = await asyncio.to_thread(records.read)
            # `records.known` is newer if an evaluation has ended since.
            over = records.known or read
        # Active ones override: a stored end is only visible once it is in the log, too.
        evaluations = [one.evaluation for one in (active | self._active).values()]
        return {**over, **{one.id: one for one in evaluations if one.run_id == run_id}}

    def _records(self, run_id: str) -> EvaluationRecords:
        records = self._in_use.get(run_id)
        if records is None:
            folder = self._folder.run(run_id)
            records = EvaluationRecords(folder, videos_kept=self._videos_kept)
            self._in_use[run_id] = records
        self._recent[run_id] = records
        self._recent.move_to_end(run_id)
        if len(self._recent) > RUNS_IN_MEMORY:
            self._recent.popitem(last=False)
        return records

    async def _save(
        self, evaluation: Evaluation, recorded: RecordedVideo | None = None
    ) -> Evaluation:
        return await asyncio.to_thread(self._records(evaluation.run_id).save, evaluation, recorded)

    async def _carry_out(self, active: ActiveEvaluation, work: Work) -> None:
        try:
            await work(active)
        except Exception as error:  # noqa: BLE001 - it always ends with a reason
            if not active.over.is_set():
                reason, line = _reason(error), getattr(error, "line", None)
                await self.end(active, EvaluationStatus.FAILED, reason, line=line)

    async def _close(
        self,
        active: ActiveEvaluation,
        ended: Evaluation,
        *,
        is_stored: bool = True,
        is_logged: bool = True,
    ) -> None:
        try:
            if is_logged:
                # Log first: clients that see the end must find it in the log.
                event_type, text, more = log_entry(ended)
                await self._add_to_log(ended.run_id, event_type, text, **more)
        finally:
            active.evaluation = ended
            if is_stored:
                self._active.pop(ended.id, None)
            active.over.set()
            self.changed.emit(ended.run_id)


def _reason(error: Exception) -> str:
    match error:
        case WorkerGoneError() if str(error) == str(WorkerGoneError()):
            return "The worker ended without a message: it was killed, or its run ended."
        case JobError():
            return f"The worker could not finish the evaluation: {error}."
        case OSError():
            reason = error.strerror or type(error).__name__
            return f"Its result could not be stored ({reason})."
        case InputError() | WrongStateError() | RunNotFoundError() | UserCodeError():
            return str(error)
    _log.error("An evaluation failed with an internal error", exc_info=error)
    return f"An internal error ended it ({type(error).__name__})."
