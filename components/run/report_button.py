"""The button that creates the report of a run in the background, in three formats."""

from nicegui import ui

from app.access import Access
from app.accounts import AccessError
from app.analysis.report import Reports
from app.runs.state import RunFeed
from storage import RunNotFoundError

_FORMATS = {"html": "Page", "text": "Text", "json": "JSON"}


class ReportButton:
    """A button, and below it the progress of the report and the links to it."""

    def __init__(self, reports: Reports, access: Access) -> None:
        self._reports = reports
        self._access = access
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
        """Enable the button for the shown run."""
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
            await self._reports.make(
                await self._access.visible(run_id), on_progress=self._show_progress
            )
        except (AccessError, RunNotFoundError) as error:
            self._text.set_text(str(error))
            return
        finally:
            self._button.enable()
            self._bar.set_visibility(False)
        if run_id == self._run_id:
            self._add_links(run_id)

    def _show_progress(self, share: float, step: str) -> None:
        self._bar.set_value(share)
        self._text.set_text(f"{step} ...")

    def _add_links(self, run_id: str) -> None:
        self._text.set_text("The report is ready.")
        with self._links:
            for format_, label in _FORMATS.items():
                address = f"/api/runs/{run_id}/report?format={format_}"
                ui.link(label, address, new_tab=format_ != "html")

    def _hide(self) -> None:
        self._links.clear()
        self._box.set_visibility(False)
