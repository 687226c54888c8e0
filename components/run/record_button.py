"""RECORD: keep the next episode of the live view."""

from nicegui import ui

from app.runs.state.feed import RunFeed
from components.evaluation.evaluation_desk import EvaluationDesk
from storage.records.runs import RunStatus


class RecordButton:
    """Says REC until the episode is over, and why where there is nothing to record."""

    def __init__(self, desk: EvaluationDesk) -> None:
        self._desk = desk
        self._button = ui.button("Record", on_click=desk.record, color=None)
        self._button.props("unelevated").classes("lab-button lab-compact lab-quiet")
        with self._button:
            self._why = ui.tooltip("")

    def show(self, feed: RunFeed | None, *, may_change: bool) -> None:
        """Offer to record a run."""
        is_recording = self._desk.recording is not None
        why_not = self._why_not(feed, may_change=may_change)
        self._button.set_text("Rec" if is_recording else "Record")
        self._button.classes(
            add="is-recording" if is_recording else "",
            remove="" if is_recording else "is-recording",
        )
        self._button.set_enabled(why_not is None and not is_recording)
        usual = "Keeps the next whole episode of the live view as a video."
        recording = "An episode is being recorded. It is listed under Evaluations when it is over."
        self._why.set_text(recording if is_recording else why_not or usual)

    def _why_not(self, feed: RunFeed | None, *, may_change: bool) -> str | None:
        if feed is None or feed.is_deleted or feed.run.status is not RunStatus.RUNNING:
            return "Nothing is live. Recording works while a run trains."
        if not may_change:
            return "This run is not yours. Only its owner may record it."
        if self._desk.under_way is not None:
            return "A test is on stage, which is filmed anyway."
        return None
