"""The doctor's insights about a run: the most important one first, the others collapsed."""

from collections.abc import Sequence

from nicegui import ui

from app.access import Access
from app.analysis.doctor import Doctor
from app.analysis.insights import Insight
from app.runs.state import RunFeed
from components.base import EmptyState
from components.run.insight_card import Change, InsightCard, Train
from storage import LabError
from storage.records import RunRecord, RunStatus

_ENDED = {RunStatus.FAILED: "failed", RunStatus.INTERRUPTED: "was interrupted"}


class InsightList:
    """Cards that update in place; adding or removing one leaves the others as they are."""

    def __init__(
        self, doctor: Doctor, access: Access, *, on_train: Train, on_change: Change
    ) -> None:
        self._doctor = doctor
        self._access = access
        self._on_train = on_train
        self._on_change = on_change
        self._run: RunRecord | None = None
        self._cards: dict[str, InsightCard] = {}
        self._first: str | None = None
        self._empty = EmptyState("", "")
        with ui.element("h3").classes("lab-label") as self._heading:
            ui.label("Policy behavior detected")
        self._list = ui.element("div").classes("lab-insights").props('aria-live="polite"')
        self._draw([])
        doctor.changed.subscribe(self.refresh)

    async def show(self, feed: RunFeed | None) -> None:
        """Show the insights of another run."""
        self._run = feed.run if feed and not feed.is_deleted else None
        self._cards.clear()
        self._list.clear()
        self._first = None
        await self.refresh(self._run.id if self._run else None)

    def follow(self, feed: RunFeed | None) -> None:
        """Update the actions for the current state of the shown run."""
        before, self._run = self._run, feed.run if feed and not feed.is_deleted else None
        if self._run is None or before is None or before.status is not self._run.status:
            for card in self._cards.values():
                card.offer(self._run)
            self._explain_empty()

    async def refresh(self, run_id: str | None) -> None:
        """Reload the insights if the shown run is the one with this id."""
        if self._run is None:
            self._draw([])
        elif run_id == self._run.id:
            try:
                insights = await self._doctor.insights(await self._access.visible(run_id))
            except LabError:
                # Deleted, or no longer shared.
                insights = []
            if self._run is not None and self._run.id == run_id:
                self._draw(insights)

    def _draw(self, insights: Sequence[Insight]) -> None:
        self._heading.set_visibility(bool(insights))
        self._list.set_visibility(bool(insights))
        self._empty.set_visibility(not insights)
        self._explain_empty()
        codes = {insight.code for insight in insights}
        for removed in set(self._cards) - codes:
            self._cards.pop(removed).delete()
        for place, insight in enumerate(insights):
            self._place(insight, place)
        if insights and insights[0].code != self._first:
            self._first = insights[0].code
            self._cards[self._first].open()

    def _place(self, insight: Insight, place: int) -> None:
        card = self._cards.get(insight.code)
        if card is None:
            with self._list:
                card = InsightCard(on_train=self._on_train, on_change=self._on_change)
            self._cards[insight.code] = card
        card.show(insight, self._run, place)

    def _explain_empty(self) -> None:
        if self._run is not None and self._run.error and self._run.status in _ENDED:
            self._empty.say(f"The run {_ENDED[self._run.status]}", self._run.error)
        elif self._run is not None and self._run.status.is_over:
            self._empty.say("No insights", "No rule matched this run.")
        else:
            self._empty.say("No insights yet", "Insights appear here once there is enough data.")
