"""Make the report of a run in the background, and hand it over in three forms."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from app.accounts.errors import AccessError
from app.analysis.report.content import Report
from app.analysis.report.gathering import Told
from app.runs.state.feed import RunFeed
from storage.errors import RunNotFoundError

_FORMS = {"html": "Page", "text": "Text", "json": "JSON"}

Make = Callable[[str, Told], Awaitable[Report]]


class ReportButton:
    """A button, and below it how far the report is and where it lies."""

    def __init__(self, *, make: Make) -> None:
        self._make = make
        self._run_id: str | None = None
        self._button = ui.button("Generate report", on_click=self._generate, color=None)
        self._button.props("unelevated").classes("lab-button lab-quiet lab-full")
        with ui.element("div").classes("lab-report").props('role="status"') as self._box:
            self._bar = ui.linear_progress(0.0, show_value=False, size="4px")
            self._bar.props('aria-label="Progress of the report"')
            self._text = ui.label().classes("lab-small")
            self._links = ui.element("div").classes("lab-insight-actions")
        self._hide()

    def show(self, feed: RunFeed | None) -> None:
        """Offer the report of the run on stage."""
        run_id = feed.run.id if feed and not feed.is_deleted else None
        self._button.set_enabled(run_id is not None)
        if run_id != self._run_id:
            self._run_id = run_id
            self._hide()

    async def _generate(self) -> None:
        if (run_id := self._run_id) is None:
            return
        self._box.set_visibility(True)
        self._bar.set_visibility(True)
        self._links.clear()
        self._button.disable()
        try:
            await self._make(run_id, self._tell)
        except (AccessError, RunNotFoundError) as error:
            self._text.set_text(str(error))
            return
        finally:
            self._button.enable()
            self._bar.set_visibility(False)
        if run_id == self._run_id:
            self._hand_over(run_id)

    def _tell(self, share: float, what: str) -> None:
        self._bar.set_value(share)
        self._text.set_text(f"{what} ...")

    def _hand_over(self, run_id: str) -> None:
        self._text.set_text("The report is ready.")
        with self._links:
            for form, label in _FORMS.items():
                address = f"/api/runs/{run_id}/report?format={form}"
                ui.link(label, address, new_tab=form != "html")

    def _hide(self) -> None:
        self._links.clear()
        self._box.set_visibility(False)
