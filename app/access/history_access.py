"""Past runs as one visitor may see them: every call checks again what they may look at."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from app.accounts.directory import Directory
from app.runs.history import History
from storage.records.history import Facets, HistoryPage
from storage.records.runs import RunFilter, RunRecord


class HistoryAccess:
    """What `History` does, for one visitor."""

    def __init__(
        self, history: History, directory: Directory, *, seen: Callable[[RunFilter], RunFilter]
    ) -> None:
        """`seen` narrows a filter to what the visitor may look at."""
        self._history = history
        self._directory = directory
        self._seen = seen

    async def page(self, wanted: RunFilter, **order: Any) -> HistoryPage:
        """Return a page of the runs that the visitor may look at."""
        return await self._history.page(self._seen(wanted), **order)

    async def facets(self) -> Facets:
        """Return by what the runs that the visitor may look at can be told apart."""
        found = await self._history.facets(self._seen(RunFilter(archived=None)))
        emails = (self._directory.email_of(person_id) for person_id in found.owners)
        return replace(found, owners=tuple(sorted(email for email in emails if email)))

    def fresh(self, runs: Sequence[RunRecord]) -> list[RunRecord]:
        """Return runs that the visitor was given, with their newest numbers."""
        return [self._history.fresh(run) for run in runs]

    async def draw(self, run: RunRecord) -> RunRecord:
        """Return a run that the visitor was given, with the shape of its learning."""
        return await self._history.draw(run)
