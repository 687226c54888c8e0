"""What happens to runs, written down first and told second: statuses, events, feeds."""

import asyncio
import logging
import weakref
from collections.abc import Sequence
from typing import Any

from app.environments.catalogue import get_environment
from app.events import Event
from app.storage_thread import StorageThread
from app.training.feed import RECENT_EVENTS, RECENT_LINES, RunFeed
from app.worker import messages
from storage import events, metrics, runs
from storage.records import EventLevel, EventRecord, RunRecord, RunStatus
from storage.run_folder import RunFolder, RunsFolder

_LOUD = {RunStatus.FAILED: EventLevel.ERROR, RunStatus.INTERRUPTED: EventLevel.WARNING}

_log = logging.getLogger(__name__)


class Journal:
    """The only one who moves a run through its life and adds to its log."""

    def __init__(self, folder: RunsFolder, storage: StorageThread) -> None:
        self.run_changed = Event[RunRecord]()
        """A run was created, renamed, or moved to another status."""
        self._folder = folder
        self._storage = storage
        # A feed lives as long as its run trains or somebody looks at it.
        self._feeds: weakref.WeakValueDictionary[str, RunFeed] = weakref.WeakValueDictionary()

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
    ) -> RunRecord:
        """Take a run one step further in its life, and say so in its log.

        Raises:
            WrongStateError: if its life has no such step.
        """
        run = await self._storage(runs.move_run, run_id, status, error=error)
        _log.info("Run %s is %s", run_id, status)
        if message is not None:
            level = _LOUD.get(status, EventLevel.INFO)
            await self.tell(run_id, status.value, message, level=level)
        return self.announce(run)

    async def tell(self, run_id: str, event_type: str, message: str, **more: Any) -> None:
        """Add to a run's log."""
        event = await self._storage(events.add_event, run_id, event_type, message, **more)
        if (feed := self._feeds.get(run_id)) is not None:
            feed.add_event(event)

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

    async def started(self, timesteps: int, notes: Sequence[str]) -> None:
        """Training began, or went on from a checkpoint."""
        message = f"Training goes on from step {timesteps:,}." if timesteps else "Training started."
        run = await self._journal.move(self._run_id, RunStatus.RUNNING, message)
        if timesteps and not get_environment(run.env_id).repeats_itself:
            notes = [*notes, f"{run.env_id} can't be brought back bit for bit, only nearly so."]
        for note in notes:
            await self._journal.tell(self._run_id, "resumed", note, level=EventLevel.WARNING)

    async def paused(self, *, on: bool) -> None:
        """Training waits, or goes on again."""
        status = RunStatus.PAUSED if on else RunStatus.RUNNING
        message = "Paused. Everything is kept." if on else "Training goes on."
        await self._journal.move(self._run_id, status, message)

    async def solved(self, timesteps: int, mean_reward: float) -> None:
        """The mean over 100 episodes reached the threshold for the first time."""
        message = f"Solved: mean reward {mean_reward:,.1f} over 100 episodes, step {timesteps:,}."
        data = {"timesteps": timesteps, "mean_reward": mean_reward}
        await self._journal.tell(self._run_id, "solved", message, data=data)


def _run_and_log(run_id: str) -> tuple[RunRecord, tuple[EventRecord, ...]]:
    return runs.get_run(run_id), events.list_events(run_id, limit=RECENT_EVENTS)


def _last_frame(folder: RunFolder) -> tuple[messages.FrameHeader, bytes] | None:
    try:
        header = messages.decode_header(folder.last_frame_header.read_bytes())
        return header, folder.last_frame.read_bytes()
    except (OSError, ValueError):
        return None
