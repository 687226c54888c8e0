"""The live feed: the stage, what it shows, and the button that ends it."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from app.training.feed import RunFeed
from components.frame_stream import FrameStream
from components.progress import ProgressBar
from components.status_badge import StatusBadge
from storage.records import RunRecord, RunStatus

_NOTES = {
    RunStatus.CREATED: "Not started yet.",
    RunStatus.QUEUED: "Waiting for a free worker.",
    RunStatus.STARTING: "Starting the worker.",
}


class LiveFeed:
    """Watches one run at a time."""

    def __init__(
        self,
        head: ui.element,
        *,
        on_stop: Callable[[], Awaitable[None]],
        on_reset: Callable[[], None],
    ) -> None:
        self._on_reset = on_reset
        with head:
            self._badge = StatusBadge()
            reset = ui.button("Reset", on_click=self._reset, color=None)
            reset.props("unelevated").classes("lab-button lab-quiet lab-compact")
            with reset:
                ui.tooltip("Clear the view. Nothing is deleted.")
            self._stop = ui.button("Stop", on_click=on_stop, color=None)
            self._stop.props("unelevated").classes("lab-button lab-danger lab-compact")
        self._stage = FrameStream()
        self._progress = ProgressBar()
        with ui.element("div").classes("lab-downloads") as self._downloads:
            self._model = ui.element("a").classes("lab-mono")
            with self._model:
                ui.label("Download model.zip").classes("inline")
            ui.label("A plain Stable-Baselines3 file.").classes("lab-small")
        self._error = ui.label().classes("lab-error px-4 pb-3").props('role="alert"')

    def show(self, feed: RunFeed | None, *, chosen_env_id: str) -> None:
        """Show a run, or the chosen environment while there is none."""
        run = feed.run if feed else None
        env_id = run.env_id if run else chosen_env_id
        self._stage.show(
            url=f"/api/runs/{run.id}/frames" if run else None,
            still=f"/api/environments/{env_id}/preview.png",
            note=_note(feed),
            live=run is not None and run.status is RunStatus.RUNNING,
        )
        self._badge.show(run.status if run else None)
        self._progress.show(run)
        self._downloads.set_visibility(feed is not None and feed.has_model)
        if run is not None:
            self._model.props(f'href="/api/runs/{run.id}/artifacts/model.zip" download')
        self._stop.set_visibility(run is not None and run.status.is_active)
        self._error.set_text(run.error or "" if run else "")
        self._error.set_visibility(bool(run and run.error))

    def stopping(self) -> None:
        """Show that the stop was understood."""
        self._stop.props("loading")

    def stopped(self) -> None:
        """Show the stop button as it was."""
        self._stop.props(remove="loading")

    def _reset(self) -> None:
        self._stage.clear_picture()
        self._on_reset()


def _note(feed: RunFeed | None) -> str | None:
    if feed is None:
        return "Pick an environment and press Train."
    if feed.live_note is not None:
        return feed.live_note
    run: RunRecord = feed.run
    if run.status is RunStatus.RUNNING and feed.frames.newest is None:
        return "Waiting for the first picture."
    if run.status.is_over and feed.frames.newest is None:
        return "Nobody was watching, so there is no picture of this run."
    return _NOTES.get(run.status)
