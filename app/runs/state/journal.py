"""Changes of runs, stored first and announced second: statuses, events, feeds."""

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from app.core import StorageThread, Tasks, until_written, write_value
from app.core.events import Event
from app.protocol import messages
from app.run_config import (
    config_of,
    describe_engine,
    describe_extension,
    environment_of,
    settings_after,
)
from app.runs.state.endings import Ending
from app.runs.state.feed import RECENT_EVENTS, RECENT_LINES, RunFeed
from storage import NotWrittenError
from storage.database import events, runs, transaction
from storage.files import LabFolder, RunFolder
from storage.metrics import metrics
from storage.records import EventLevel, EventRecord, JsonObject, RunRecord, RunStatus

_LEVELS = {RunStatus.FAILED: EventLevel.ERROR, RunStatus.INTERRUPTED: EventLevel.WARNING}

NOT_CONFIRMED = "not_confirmed"
"""The event that other episodes did not confirm that the environment is solved."""

_log = logging.getLogger(__name__)


class Journal:
    """Changes the status of runs and adds to their event logs; nothing else does."""

    def __init__(self, folder: LabFolder, storage: StorageThread) -> None:
        self.run_changed = Event[RunRecord]()
        """A run was created, renamed, or moved to another status."""
        self.run_ending = Event[RunRecord]()
        """Emits the final record of a run; its log has the end only once all subscribers return."""
        self.run_ended = Event[RunRecord]()
        """A run has ended, and nothing of it is running any more."""
        self._folder = folder
        self._storage = storage
        # A feed exists as long as its run trains or something refers to it.
        self._feeds: weakref.WeakValueDictionary[str, RunFeed] = weakref.WeakValueDictionary()
        self._retries = Tasks()

    async def close(self) -> None:
        """Give up on events that could not be stored."""
        await self._retries.cancel()

    async def feed(self, run_id: str) -> RunFeed:
        """Return the feed of a run: its current state, with events on changes.

        Raises:
            RunNotFoundError: if there is none of this id.
        """
        await self._storage(runs.get_run, run_id)
        if (known := self._feeds.get(run_id)) is not None:
            return known
        folder = self._folder.run(run_id)
        lines = await asyncio.to_thread(metrics.tail_lines, folder.metrics, RECENT_LINES)
        frame = await asyncio.to_thread(_last_frame, folder)
        has_model = await asyncio.to_thread(folder.model.is_file)
        has_checkpoint = await asyncio.to_thread(lambda: bool(folder.checkpoints))
        # Last and in one call: later writes find the feed and are added to it.
        run, log = await self._storage(_run_and_log, run_id)
        # A concurrent call may have created it meanwhile.
        if (known := self._feeds.get(run_id)) is not None:
            return known
        feed = self._feeds[run_id] = RunFeed(run, lines, log)
        feed.has_model = has_model
        feed.has_checkpoint = has_checkpoint
        if frame is not None:
            feed.frames.publish(*frame)
        return feed

    def live(self, run_id: str) -> RunFeed | None:
        """Return the feed of a run if one exists."""
        return self._feeds.get(run_id)

    def forget(self, run_id: str) -> None:
        """Mark the feed of a run as deleted, and drop it."""
        if (feed := self._feeds.pop(run_id, None)) is not None:
            feed.set_deleted()

    async def move(
        self,
        run_id: str,
        status: RunStatus,
        message: str | None = None,
        *,
        error: str | None = None,
        data: JsonObject | None = None,
    ) -> RunRecord:
        """Move a run to another status, and log it.

        Raises:
            WrongStateError: if there is no such transition.
            NotWrittenError: if it can't be stored; then nothing has changed.
        """
        move = partial(_move_and_log, run_id, status, message, error=error, data=data)
        run, event = await self._storage(move)
        _log.info("Run %s is %s", run_id, status)
        self._show_event(event)
        return self.announce(run)

    async def end(self, run_id: str, ending: Ending) -> RunRecord:
        """Store how a run ended; subscribers see it even if it can't be stored yet.

        Raises:
            NotWrittenError: if it can't be stored; the caller has to retry.
        """
        feed = self._feeds.get(run_id)
        try:
            if feed is not None:
                run = feed.run
                save = partial(runs.save_progress, sketch=run.sketch)
                await self._storage(save, run_id, run.progress, feed.latest)
                ended = replace(run, status=ending.status, error=ending.error)
                await self.run_ending.call(ended)
            return await self.move(
                run_id, ending.status, ending.message, error=ending.error, data=ending.data
            )
        except NotWrittenError:
            if feed is not None and feed.run.status is not ending.status:
                now = datetime.now(UTC)
                shown = replace(feed.run, status=ending.status, error=ending.error, finished_at=now)
                self.announce(shown)
            raise

    async def add_event(self, run_id: str, event_type: str, message: str, **more: Any) -> None:
        """Add an event to a run's log; retry in the background if it can't be stored."""

        async def add() -> EventRecord:
            return await self._storage(events.add_event, run_id, event_type, message, **more)

        try:
            self._show_event(await add())
        except NotWrittenError:
            self._retries.start(self._add_late(add), name=f"log of {run_id}")

    async def _add_late(self, add: Callable[[], Awaitable[EventRecord]]) -> None:
        self._show_event(await until_written(add, "An event"))

    def _show_event(self, event: EventRecord | None) -> None:
        if event is not None and (feed := self._feeds.get(event.run_id)) is not None:
            feed.add_event(event)

    async def record_change(
        self, run_id: str, timesteps: int, values: Mapping[str, Any]
    ) -> str | None:
        """Record in a run's config which values it uses from a step on.

        Returns:
            What a change of the budget does to schedules, if the run has any.
        """
        store = partial(self._storage, store_change, run_id, timesteps, values)
        run, sentence = await until_written(store, f"A change of run {run_id}")
        await self.save_config(run)
        return sentence

    async def save_config(self, run: RunRecord) -> RunRecord:
        """Write a changed config to the run's folder, too, and announce it."""
        await asyncio.to_thread(self._folder.run(run.id).save_config, run.config)
        return self.announce(run)

    async def save_final_evaluation(self, run_id: str, mean_return: float, timesteps: int) -> None:
        """Store the result of the final evaluation of the policy of a step, and announce it.

        Raises:
            NotWrittenError: if it can't be stored.
        """
        save = partial(runs.save_final_evaluation, run_id, mean_return, timesteps)
        run = await self._storage(save)
        if (feed := self._feeds.get(run_id)) is not None:
            progress = replace(
                feed.run.progress, final_evaluation=mean_return, final_evaluation_at=timesteps
            )
            feed.set_progress(progress)
        self.announce(run)

    def announce(self, run: RunRecord) -> RunRecord:
        """Publish the current record of a run to its feed and to subscribers."""
        if (feed := self._feeds.get(run.id)) is not None:
            feed.set_run(run)
        self.run_changed.emit(run)
        return run


class RunLog:
    """Logs what a worker reports about one run, and updates its status."""

    def __init__(self, journal: Journal, run_id: str) -> None:
        self._journal = journal
        self._run_id = run_id

    async def started(self, message: messages.Started) -> None:
        """Training started, or resumed from a checkpoint."""
        timesteps, notes = message.timesteps, list(message.notes)
        text = f"Training continues from step {timesteps:,}." if timesteps else "Training started."
        run = await self._move(RunStatus.RUNNING, text)
        spec = environment_of(run)
        if timesteps and not spec.repeats_itself:
            notes.append(f"{run.env_id} can't be restored exactly, only approximately.")
        if not timesteps:
            config = config_of(run)
            sentence = describe_engine(config.engine_used, config.engine_reason)
            await self._journal.add_event(self._run_id, "engine", sentence)
        for note in notes:
            await self._journal.add_event(self._run_id, "resumed", note, level=EventLevel.WARNING)

    async def paused(self, *, on: bool) -> None:
        """Training paused, or resumed."""
        status = RunStatus.PAUSED if on else RunStatus.RUNNING
        message = "Paused. The complete state is kept." if on else "Training continues."
        await self._move(status, message)

    async def changed(self, timesteps: int, change: messages.Change) -> None:
        """Training uses other values from now on."""
        values = {
            name: getattr(change, name)
            for name in change.__struct_fields__
            if getattr(change, name) is not None
        }
        words = ", ".join(f"{name} {write_value(value)}" for name, value in values.items())
        sentence = await self._journal.record_change(self._run_id, timesteps, values)
        data = {"timesteps": timesteps, "values": msgspec.to_builtins(values)}
        message = " ".join(filter(None, [f"From step {timesteps:,} on: {words}.", sentence]))
        await self._journal.add_event(self._run_id, "changed", message, data=data)

    async def noted(self, note: messages.Noted) -> None:
        """The worker reports something for the user."""
        level = EventLevel.WARNING if note.is_warning else EventLevel.INFO
        message = note.message[: messages.MAX_TEXT]
        await self._journal.add_event(self._run_id, note.event_type[:50], message, level=level)

    async def confirmation_ended(
        self,
        timesteps: int,
        mean_return: float,
        threshold: float,
        *,
        episodes: int,
        is_solved: bool,
    ) -> None:
        """Enough evaluations in a row reached the threshold, and other episodes were played."""
        mean = f"mean return {mean_return:,.1f} over {episodes} other episodes"
        numbers = f"{mean}, threshold {threshold:g}"
        if is_solved:
            event_type, message = "solved", f"Solved at step {timesteps:,}: {numbers}."
        else:
            event_type = NOT_CONFIRMED
            message = f"Not solved yet: evaluations reached the threshold, but {numbers}."
        data = {"timesteps": timesteps, "mean_return": mean_return}
        await self._journal.add_event(self._run_id, event_type, message, data=data)

    async def _move(self, status: RunStatus, message: str) -> RunRecord:
        # The worker continues meanwhile; only its next messages are handled later.
        move = partial(self._journal.move, self._run_id, status, message)
        return await until_written(move, f"That run {self._run_id} is {status}")


def store_change(
    run_id: str, timesteps: int, values: Mapping[str, Any]
) -> tuple[RunRecord, str | None]:
    """Store that a run uses other values from a step on; return what happens to schedules, too."""
    with transaction():
        config = config_of(runs.get_run(run_id))
        total = values.get("total_timesteps")
        schedules = values.get("schedules")
        sentence = (
            None if total is None else describe_extension(config, total, schedules, at=timesteps)
        )
        change = {"timesteps": timesteps, **msgspec.to_builtins(values)}
        run = runs.merge_config(run_id, settings_after(config, values), change=change)
        return run, sentence


def _move_and_log(
    run_id: str,
    status: RunStatus,
    message: str | None,
    *,
    error: str | None,
    data: JsonObject | None,
) -> tuple[RunRecord, EventRecord | None]:
    with transaction():
        run = runs.change_status(run_id, status, error=error)
        if message is None:
            return run, None
        level = _LEVELS.get(status, EventLevel.INFO)
        return run, events.add_event(run_id, status.value, message, level=level, data=data)


def _run_and_log(run_id: str) -> tuple[RunRecord, tuple[EventRecord, ...]]:
    return runs.get_run(run_id), events.list_events(run_id, limit=RECENT_EVENTS)


def _last_frame(folder: RunFolder) -> tuple[messages.FrameHeader, bytes] | None:
    try:
        header = messages.decode_header(folder.last_frame_header.read_bytes())
        return header, folder.last_frame.read_bytes()
    except (OSError, ValueError):
        return None
