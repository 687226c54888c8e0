"""What happens to runs, written down first and told second: statuses, events, feeds."""

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from app.catalog.environments.catalogue import environment_of_run
from app.core.events import Event
from app.core.storage_thread import StorageThread, until_written
from app.core.tasks import Tasks
from app.protocol import messages
from app.protocol.engine import describe_engine
from app.runs.state.endings import Ending
from app.runs.state.feed import RECENT_EVENTS, RECENT_LINES, RunFeed
from storage.database import events, runs
from storage.database.database import in_one_step
from storage.errors import NotWrittenError
from storage.files.lab_folder import LabFolder
from storage.files.run_folder import RunFolder
from storage.metrics import metrics
from storage.records.runs import EventLevel, EventRecord, JsonObject, RunRecord, RunStatus

_LOUD = {RunStatus.FAILED: EventLevel.ERROR, RunStatus.INTERRUPTED: EventLevel.WARNING}

_log = logging.getLogger(__name__)


class Journal:
    """The only one who moves a run through its life and adds to its log."""

    def __init__(self, folder: LabFolder, storage: StorageThread) -> None:
        self.run_changed = Event[RunRecord]()
        """A run was created, renamed, or moved to another status."""
        self._folder = folder
        self._storage = storage
        # A feed lives as long as its run trains or somebody looks at it.
        self._feeds: weakref.WeakValueDictionary[str, RunFeed] = weakref.WeakValueDictionary()
        self._late = Tasks()
        self.before_end: Callable[[RunRecord], Awaitable[None]] | None = None
        """Has the last word about a run before its log says that it is over; never raises."""

    async def close(self) -> None:
        """Give up on what could not be written down."""
        await self._late.cancel()

    async def feed(self, run_id: str) -> RunFeed:
        """Return what a run looks like right now, and news about it.

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
        # Last and in one call: what is written from now on finds the feed and is added to it.
        run, log = await self._storage(_run_and_log, run_id)
        # Somebody else may have made it while this one was reading.
        if (known := self._feeds.get(run_id)) is not None:
            return known
        feed = self._feeds[run_id] = RunFeed(run, lines, log)
        feed.has_model = has_model
        feed.has_checkpoint = has_checkpoint
        if frame is not None:
            feed.frames.publish(*frame)
        return feed

    def live(self, run_id: str) -> RunFeed | None:
        """Return the feed of a run if anybody has it."""
        return self._feeds.get(run_id)

    def forget(self, run_id: str) -> None:
        """Tell those who follow a run that it was deleted, and let nobody new follow it."""
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
        """Take a run one step further in its life, and say so in its log.

        Raises:
            WrongStateError: if its life has no such step.
            NotWrittenError: if it can't be written down; then it didn't happen.
        """
        move = partial(_move_and_tell, run_id, status, message, error=error, data=data)
        run, event = await self._storage(move)
        _log.info("Run %s is %s", run_id, status)
        self._show_event(event)
        return self.announce(run)

    async def end(self, run_id: str, ending: Ending) -> RunRecord:
        """Write down how a run ended; if that has to wait, those who look see it all the same.

        Raises:
            NotWrittenError: if it can't be written down; then it has to be tried again.
        """
        feed = self._feeds.get(run_id)
        try:
            if feed is not None:
                run = feed.run
                save = partial(runs.save_progress, sketch=run.sketch)
                await self._storage(save, run_id, run.progress, feed.latest)
                if self.before_end is not None:
                    ended = replace(run, status=ending.status, error=ending.error)
                    await self.before_end(ended)
            return await self.move(
                run_id, ending.status, ending.message, error=ending.error, data=ending.data
            )
        except NotWrittenError:
            if feed is not None and feed.run.status is not ending.status:
                now = datetime.now(UTC)
                seen = replace(feed.run, status=ending.status, error=ending.error, finished_at=now)
                self.announce(seen)
            raise

    async def tell(self, run_id: str, event_type: str, message: str, **more: Any) -> None:
        """Add to a run's log, as soon as that is possible."""

        async def add() -> EventRecord:
            return await self._storage(events.add_event, run_id, event_type, message, **more)

        try:
            self._show_event(await add())
        except NotWrittenError:
            self._late.start(self._tell_late(add), name=f"log of {run_id}")

    async def _tell_late(self, add: Callable[[], Awaitable[EventRecord]]) -> None:
        self._show_event(await until_written(add, "An event"))

    def _show_event(self, event: EventRecord | None) -> None:
        if event is not None and (feed := self._feeds.get(event.run_id)) is not None:
            feed.add_event(event)

    async def note_change(self, run_id: str, timesteps: int, values: Mapping[str, Any]) -> None:
        """Write into a run's config what it goes on with from some step."""
        change = {"timesteps": timesteps, **msgspec.to_builtins(values)}
        budget = {name: values[name] for name in ("total_timesteps",) if name in values}
        merge = partial(self._storage, runs.merge_config, run_id, budget, change=change)
        run = await until_written(merge, f"A change of run {run_id}")
        await self.save_config(run)

    async def note_engine(self, run: RunRecord, said: messages.Started) -> None:
        """Write down what trains a run, if it is another engine than was thought."""
        if said.engine == run.config.get("engine_used", "sb3"):
            return
        values = {"engine_used": said.engine, "engine_reason": said.why_not_fast}
        merge = partial(self._storage, runs.merge_config, run.id, values)
        await self.save_config(await until_written(merge, f"The engine of run {run.id}"))

    async def save_config(self, run: RunRecord) -> RunRecord:
        """Write a config that changed into the run's folder, too, and show it."""
        await asyncio.to_thread(self._folder.run(run.id).save_config, run.config)
        return self.announce(run)

    def announce(self, run: RunRecord) -> RunRecord:
        """Show a run as it now stands in the database."""
        if (feed := self._feeds.get(run.id)) is not None:
            feed.set_run(run)
        self.run_changed.emit(run)
        return run


class RunTurns:
    """Writes down what a supervisor hears of one run."""

    def __init__(self, journal: Journal, run_id: str) -> None:
        self._journal = journal
        self._run_id = run_id

    async def started(self, said: messages.Started) -> None:
        """Training began, or went on from a checkpoint."""
        timesteps, notes = said.timesteps, list(said.notes)
        message = f"Training goes on from step {timesteps:,}." if timesteps else "Training started."
        run = await self._move(RunStatus.RUNNING, message)
        spec = environment_of_run(run.env_id, run.config.get("env_kwargs"))
        if timesteps and not spec.repeats_itself:
            notes.append(f"{run.env_id} can't be brought back bit for bit, only nearly so.")
        await self._journal.note_engine(run, said)
        if not timesteps:
            why_not = said.why_not_fast or run.config.get("engine_reason")
            await self._journal.tell(self._run_id, "engine", describe_engine(said.engine, why_not))
        for note in notes:
            await self._journal.tell(self._run_id, "resumed", note, level=EventLevel.WARNING)

    async def paused(self, *, on: bool) -> None:
        """Training waits, or goes on again."""
        status = RunStatus.PAUSED if on else RunStatus.RUNNING
        message = "Paused. Everything is kept." if on else "Training goes on."
        await self._move(status, message)

    async def changed(self, timesteps: int, change: messages.Change) -> None:
        """Training goes on with other values."""
        values = {
            name: getattr(change, name)
            for name in change.__struct_fields__
            if getattr(change, name) is not None
        }
        words = ", ".join(f"{name} {_write(value)}" for name, value in values.items())
        await self._journal.note_change(self._run_id, timesteps, values)
        data = {"timesteps": timesteps, "values": msgspec.to_builtins(values)}
        message = f"From step {timesteps:,} on: {words}."
        await self._journal.tell(self._run_id, "changed", message, data=data)

    async def noted(self, said: messages.Noted) -> None:
        """The worker has something to tell a person."""
        level = EventLevel.WARNING if said.is_warning else EventLevel.INFO
        message = said.message[: messages.MAX_TEXT]
        await self._journal.tell(self._run_id, said.event_type[:50], message, level=level)

    async def solved(self, timesteps: int, mean_reward: float) -> None:
        """The mean over 100 episodes reached the threshold for the first time."""
        message = f"Solved: mean reward {mean_reward:,.1f} over 100 episodes, step {timesteps:,}."
        data = {"timesteps": timesteps, "mean_reward": mean_reward}
        await self._journal.tell(self._run_id, "solved", message, data=data)

    async def _move(self, status: RunStatus, message: str) -> RunRecord:
        # The run goes on meanwhile; only what it says next is heard later.
        move = partial(self._journal.move, self._run_id, status, message)
        return await until_written(move, f"That run {self._run_id} is {status}")


def _move_and_tell(
    run_id: str,
    status: RunStatus,
    message: str | None,
    *,
    error: str | None,
    data: JsonObject | None,
) -> tuple[RunRecord, EventRecord | None]:
    with in_one_step():
        run = runs.move_run(run_id, status, error=error)
        if message is None:
            return run, None
        level = _LOUD.get(status, EventLevel.INFO)
        return run, events.add_event(run_id, status.value, message, level=level, data=data)


def _write(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _run_and_log(run_id: str) -> tuple[RunRecord, tuple[EventRecord, ...]]:
    return runs.get_run(run_id), events.list_events(run_id, limit=RECENT_EVENTS)


def _last_frame(folder: RunFolder) -> tuple[messages.FrameHeader, bytes] | None:
    try:
        header = messages.decode_header(folder.last_frame_header.read_bytes())
        return header, folder.last_frame.read_bytes()
    except (OSError, ValueError):
        return None
