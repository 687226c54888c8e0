"""What the doctor says about a run: the most important first, the rest folded."""

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from app.analysis.insights.insight import Insight
from app.runs.state.feed import RunFeed
from components.base.panel import EmptyState
from components.run.insight_card import Change, InsightCard, Train
from storage.errors import LabError
from storage.records.runs import RunRecord, RunStatus

_ENDED = {RunStatus.FAILED: "failed", RunStatus.INTERRUPTED: "was interrupted"}


class InsightList:
    """Cards that change in place; one that appears or goes leaves the others as they are."""

    def __init__(
        self,
        *,
        look: Callable[[str], Awaitable[Sequence[Insight]]],
        on_train: Train,
        on_change: Change,
    ) -> None:
        self._look = look
        self._on_train = on_train
        self._on_change = on_change
        self._run: RunRecord | None = None
        self._cards: dict[str, InsightCard] = {}
        self._lead: str | None = None
        self._empty = EmptyState("", "")
        with ui.element("h3").classes("lab-label") as self._heading:
            ui.label("Policy behavior detected")
        self._list = ui.element("div").classes("lab-insights").props('aria-live="polite"')
        self._draw([])

    async def show(self, feed: RunFeed | None) -> None:
        """Show what is known about another run."""
        self._run = feed.run if feed and not feed.is_deleted else None
        self._cards.clear()
        self._list.clear()
        self._lead = None
        await self.look_again(self._run.id if self._run else None)

    def follow(self, feed: RunFeed | None) -> None:
        """Offer what can be done with the run on stage as it is now."""
        before, self._run = self._run, feed.run if feed and not feed.is_deleted else None
        if self._run is None or before is None or before.status is not self._run.status:
            for card in self._cards.values():
                card.offer(self._run)
            self._say_why_empty()

    async def look_again(self, run_id: str | None) -> None:
        """Show the findings of the run on stage, if it is this one that has others."""
        if self._run is None:
            self._draw([])
        elif run_id == self._run.id:
            try:
                found = await self._look(run_id)
            except LabError:
                # Deleted, or not shared any more.
                found = []
            if self._run is not None and self._run.id == run_id:
                self._draw(found)

    def _draw(self, insights: Sequence[Insight]) -> None:
        self._heading.set_visibility(bool(insights))
        self._list.set_visibility(bool(insights))
        self._empty.set_visibility(not insights)
        self._say_why_empty()
        codes = {insight.code for insight in insights}
        for gone in set(self._cards) - codes:
            self._cards.pop(gone).delete()
        for place, insight in enumerate(insights):
            self._place(insight, place)
        if insights and insights[0].code != self._lead:
            self._lead = insights[0].code
            self._cards[self._lead].open()

    def _place(self, insight: Insight, place: int) -> None:
        card = self._cards.get(insight.code)
        if card is None:
            with self._list:
                card = InsightCard(on_train=self._on_train, on_change=self._on_change)
            self._cards[insight.code] = card
        card.show(insight, self._run, place)

    def _say_why_empty(self) -> None:
        if self._run is not None and self._run.error and self._run.status in _ENDED:
            self._empty.say(f"The run {_ENDED[self._run.status]}", self._run.error)
        elif self._run is not None and self._run.status.is_over:
            self._empty.say("Nothing stands out", "No rule found anything to say about this run.")
        else:
            self._empty.say(
                "Nothing to report yet", "Insights appear here once there is enough to judge."
            )
