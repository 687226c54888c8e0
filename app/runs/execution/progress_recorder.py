"""Record what a worker reports: metrics to disk, then to the feed; progress to the database."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from app.core import StorageThread, Tasks
from app.protocol import messages
from app.runs.execution.periodic_evaluation import PeriodicResults
from app.runs.state import RunFeed, progress_after
from storage import NotWrittenError
from storage.database import runs
from storage.metrics import MetricsWriter
from storage.records import SolvedBy

_SAVE_EVERY_S = 1.0

_log = logging.getLogger(__name__)


class ProgressRecorder:
    """Writes a run's metrics and progress; nothing else does."""

    def __init__(
        self,
        feed: RunFeed,
        results: PeriodicResults,
        *,
        disk: StorageThread,
        storage: StorageThread,
    ) -> None:
        """`results` has the numbers of periodic evaluations that lines of metrics only mark."""
        self._feed = feed
        self._results = results
        self._disk = disk
        self._storage = storage
        self._writer: MetricsWriter | None = None
        self._saved = time.monotonic()
        self._is_saving = False
        self._tasks = Tasks()

    async def open(self, metrics: Path) -> None:
        """Open the metrics file for appending.

        Raises:
            OSError: if it can't be opened.
        """
        self._writer = await asyncio.to_thread(MetricsWriter, metrics)

    async def close(self) -> None:
        """Close the metrics file.

        Raises:
            OSError: if the last lines can't be flushed.
        """
        await self._tasks.cancel()
        if self._writer is not None:
            await asyncio.to_thread(self._writer.close)

    @property
    def lines_written(self) -> int:
        """The number of lines in the metrics file."""
        return 0 if self._writer is None else self._writer.count

    def note_progress(self, reported: messages.Progressed) -> None:
        """Show the progress of training, and store it once a second."""
        self._feed.set_progress(
            replace(
                self._feed.run.progress,
                timesteps=reported.timesteps,
                vec_steps=reported.vec_steps,
                updates=reported.updates,
                episodes=reported.episodes,
                elapsed_s=reported.elapsed_s,
            )
        )
        self._feed.set_speed(reported.fps)
        if time.monotonic() - self._saved >= _SAVE_EVERY_S and not self._is_saving:
            # In the background: a locked database must not delay metrics.
            self._tasks.start(self.save(), name=f"save {self._feed.run.id}")

    async def write_lines(self, lines: Sequence[messages.Line]) -> None:
        """Write lines of metrics, then show them.

        Raises:
            OSError: if they can't be written.
        """
        assert self._writer is not None
        # On disk before on screen, so that nothing shown can be lost.
        complete = [structs.replace(line, values=self._results.take(line)) for line in lines]
        written = await self._disk(self._writer.append, [line.flat() for line in complete])
        self._feed.add_lines(written)
        before = self._feed.run.progress
        after = progress_after(before, written)
        if after != before:
            self._feed.set_progress(after)

    def note_solved(self, timesteps: int) -> None:
        """Keep the step of the first policy that was confirmed to solve the environment."""
        progress, by = self._feed.run.progress, SolvedBy.EVALUATIONS
        if progress.solved_by is not by:
            self._feed.set_progress(replace(progress, solved_at=timesteps, solved_by=by))

    async def save(self) -> None:
        """Store the progress; after a failure, the next save or the end of the run stores it."""
        self._saved, self._is_saving = time.monotonic(), True
        run = self._feed.run
        try:
            await self._storage(
                runs.save_progress, run.id, run.progress, self._feed.latest, run.sketch
            )
        except NotWrittenError as error:
            _log.warning("The progress of run %s was not saved: %s", run.id, error)
        finally:
            self._is_saving = False
