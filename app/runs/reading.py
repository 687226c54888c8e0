"""Read runs: lists of them, their feeds, logs, metrics and files."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from app.catalog.environments import EnvSpec
from app.core import StorageThread
from app.run_config import readable_config
from app.runs.groups import GROUP_METRICS, GroupPoint, ends_of, group_curve
from app.runs.state import RunFeed
from app.runs.unchecked import UncheckedRuns
from storage.database import events, runs
from storage.files import RunFolder
from storage.metrics import CurveCache, metrics
from storage.records import Curves, EventRecord, Page, RunRecord, SeenFilter, View, VisibleRun

_READERS = 2


class RunReader:
    """Reads runs for users: each call takes a proof of permission."""

    def __init__(self, unchecked: UncheckedRuns, storage: StorageThread) -> None:
        self.unchecked = unchecked
        """For internal services only: no page, component or route may use it."""
        self._fresh = unchecked.fresh
        self._storage = storage
        self._reading = asyncio.Semaphore(_READERS)
        self._curves = CurveCache()

    async def list(self, wanted: SeenFilter, **order: Any) -> Page[RunRecord]:
        """Return a page of runs with their newest numbers."""
        page = await self._storage(runs.list_runs, wanted, **order)
        return Page(tuple(self._fresh(run) for run in page.items), page.next)

    async def group_curve(self, members: Sequence[VisibleRun]) -> Sequence[GroupPoint]:
        """Return the aggregate learning curve of a group."""

        def read() -> Sequence[GroupPoint]:
            files = [self.folder(run).metrics for run in members]
            histories = [metrics.read_columns(file, GROUP_METRICS) for file in files]
            return group_curve(histories, ends_of(members))

        async with self._reading:
            return await asyncio.to_thread(read)

    async def newest(self, wanted: SeenFilter) -> RunRecord | None:
        """Return the run to show first: one that trains, else the latest."""
        run = await self._storage(runs.newest_run, wanted)
        return None if run is None else self._fresh(run)

    async def best(self, spec: EnvSpec, wanted: SeenFilter) -> RunRecord | None:
        """Return the run with the best score in an environment with default options."""
        defaults = spec.check_kwargs({})
        in_environment = replace(wanted, env_id=spec.id, archived=None)
        for run in await self._storage(runs.best_runs, in_environment):
            config = readable_config(run)
            if config is not None and config.env_kwargs == defaults:
                return run
        return None

    async def solved(self, wanted: SeenFilter) -> frozenset[str]:
        """Return the environments that at least one of these runs has solved."""
        return await self._storage(runs.solved_environments, wanted)

    async def feed(self, run: VisibleRun) -> RunFeed:
        """Return the feed of a run: its current state, with events on changes.

        Raises:
            RunNotFoundError: if it was deleted meanwhile.
        """
        return await self.unchecked.feed(run.id)

    async def events(self, run: VisibleRun, **bounds: Any) -> tuple[EventRecord, ...]:
        """Return a run's event log, newest first; see `storage.database.events.list_events`."""
        return await self._storage(events.list_events, run.id, **bounds)

    async def events_after(self, run: VisibleRun, after: int) -> tuple[EventRecord, ...]:
        """Return the next part of a run's event log, oldest first."""
        return await self._storage(events.events_after, run.id, after, limit=500)

    async def read_on(self, reader: metrics.LineReader, limit: int) -> Sequence[msgspec.Raw]:
        """Read the next lines of a run's metrics for one of its subscribers."""
        # Few at a time: a hundred subscribers must not starve the threads that write.
        async with self._reading:
            return await asyncio.to_thread(reader.read, limit)

    async def curves(self, run: VisibleRun, view: View) -> Curves:
        """Return curves of some metrics of a run, at the resolution of a view."""
        async with self._reading:
            return await asyncio.to_thread(self._curves.read, self.folder(run).metrics, view)

    async def place_in_queue(self, run: VisibleRun) -> int | None:
        """Return the position of a run in the queue, from 1; None if it isn't queued."""
        return await self._storage(runs.place_in_queue, run.id)

    def folder(self, run: VisibleRun) -> RunFolder:
        """Return the files of a run."""
        return self.unchecked.folder(run.id)
