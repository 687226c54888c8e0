"""The button that records the next episode of the live view."""

from nicegui import ui

from app.runs.state import RunFeed
from components.evaluation import EvaluationState
from storage.records import RunStatus


class RecordButton:
    """Shows REC until the episode ends; a tooltip explains why recording isn't possible."""

    def __init__(self, state: EvaluationState) -> None:
        self._state = state
        self._button = ui.button("Record", on_click=state.record, color=None)
        self._button.props("unelevated").classes("lab-button lab-compact lab-quiet")
        with self._button:
            self._tooltip = ui.tooltip("")

    def show(self, feed: RunFeed | None, *, may_change: bool) -> None:
        """Update the button for the current state of a run."""
        is_recording = self._state.recording is not None
        why_not = self._why_not(feed, may_change=may_change)
        self._button.set_text("Rec" if is_recording else "Record")
        self._button.classes(
            add="is-recording" if is_recording else "",
            remove="" if is_recording else "is-recording",
        )
        self._button.set_enabled(why_not is None and not is_recording)
        default = "Records the next complete episode of the live view as a video."
        recording = "Recording an episode. It is listed under Evaluations when it ends."
        self._tooltip.set_text(recording if is_recording else why_not or default)

    def _why_not(self, feed: RunFeed | None, *, may_change: bool) -> str | None:
        if feed is None or feed.is_deleted or feed.run.status is not RunStatus.RUNNING:
            return "There is no live view. Recording works while a run trains."
        if not may_change:
            return "This run is not yours. Only its owner may record it."
        if self._state.under_way is not None:
            return "An evaluation is running, which is recorded anyway."
        return None
