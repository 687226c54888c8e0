"""Past runs: pages of them, by what they can be told apart, and the shape of their learning."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from app.core.storage_thread import StorageThread
from app.runs.execution.supervisor import larger
from storage.database import history, runs
from storage.database.sketches import Sketcher
from storage.files.lab_folder import LabFolder
from storage.metrics import metrics
from storage.records.history import Facets, HistoryPage
from storage.records.runs import JsonObject, RunFilter, RunRecord

_READERS = 1


class History:
    """What a list of past runs needs, with the newest numbers of those that train."""

    def __init__(
        self,
        folder: LabFolder,
        storage: StorageThread,
        *,
        fresh: Callable[[RunRecord], RunRecord],
    ) -> None:
        self.fresh = fresh
        """Returns a run with its newest numbers, without asking the database."""
        self._folder = folder
        self._storage = storage
        self._reading = asyncio.Semaphore(_READERS)

    async def page(self, wanted: RunFilter, **order: Any) -> HistoryPage:
        """Return a page of runs; see `storage.database.history.history_page`."""
        found = await self._storage(history.history_page, wanted, **order)
        entries = tuple(tuple(self.fresh(run) for run in entry) for entry in found.entries)
        return replace(found, entries=entries)

    async def facets(self, seen: RunFilter) -> Facets:
        """Return by what runs can be told apart."""
        return await self._storage(history.facets, seen)

    async def draw(self, run: RunRecord) -> RunRecord:
        """Return a run with its shape, which is read from its metrics once and then kept.

        Runs that train draw themselves; this is for those from before, or from elsewhere.
        """
        if run.sketch is not None or not run.status.is_over:
            return run
        path = self._folder.run(run.id).metrics

        def read() -> RunRecord:
            sketcher, best = Sketcher(), run.progress.best_evaluation

            def watched() -> Iterator[JsonObject]:
                nonlocal best
                for line in metrics.each_line(path):
                    best = larger(best, line.get("eval_reward"))
                    yield line

            drawn = sketcher.add(watched())
            return replace(run, sketch=drawn, progress=replace(run.progress, best_evaluation=best))

        async with self._reading:
            drawn = await asyncio.to_thread(read)
        save = partial(runs.save_sketch, best_evaluation=drawn.progress.best_evaluation)
        if drawn.sketch is not None:
            await self._storage(save, run.id, drawn.sketch)
        return drawn
