"""The column with the insights, report, event log and lineage of a run."""

from app.access import Access
from app.analysis.comparison import Comparing
from app.analysis.doctor import Doctor
from app.analysis.report import Reports
from app.runs.state import RunFeed
from components.base import panel
from components.run import Change, EventLog, InsightList, LineagePanel, ReportButton, Train


class NewsColumn:
    """Shows one run at a time and updates in place."""

    def __init__(
        self,
        doctor: Doctor,
        reports: Reports,
        comparing: Comparing,
        access: Access,
        *,
        on_train: Train,
        on_change: Change,
    ) -> None:
        with panel("Analysis & explainer", place="analysis"):
            self._insights = InsightList(doctor, access, on_train=on_train, on_change=on_change)
            self._report = ReportButton(reports, access)
        with panel("Event log", flush=True, place="log"):
            self._log = EventLog()
        with panel("Lineage", place="lineage"):
            self._lineage = LineagePanel(access, comparing, on_train=on_train)

    def begin(self) -> None:
        """Empty the log for another run."""
        self._log.clear()

    def show(self, feed: RunFeed | None) -> None:
        """Show the current state of a run."""
        self._insights.follow(feed)
        self._report.show(feed)
        if feed is not None:
            self._log.show(feed.events)

    async def follow(self, feed: RunFeed | None) -> None:
        """Load the insights and lineage of another run."""
        await self._insights.show(feed)
        await self._lineage.follow([feed.run.id] if feed else [])
