"""The live feed: the stage, what it shows, and the button that ends it."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from app.training.feed import RunFeed
from components.frame_stream import FrameStream
from components.hyperparameter_field import write_value
from components.progress import ProgressBar
from components.status_badge import StatusBadge
from storage.records import RunRecord, RunStatus

_NOTES = {
    RunStatus.CREATED: "Not started yet.",
    RunStatus.QUEUED: "Waiting for a free worker.",
    RunStatus.STARTING: "Starting the worker.",
    RunStatus.PAUSED: "Paused.",
}


class LiveFeed:
    """Watches one run at a time."""

    def __init__(
        self,
        head: ui.element,
        *,
        on_pause: Callable[[], Awaitable[None]],
        on_resume: Callable[[], Awaitable[None]],
        on_stop: Callable[[], Awaitable[None]],
        on_reset: Callable[[], None],
    ) -> None:
        self._on_reset = on_reset
        with head:
            self._badge = StatusBadge()
            with _button("Reset", self._reset, "lab-quiet"):
                ui.tooltip("Clear the view. Nothing is deleted.")
            self._pause = _button("Pause", on_pause, "lab-quiet")
            self._resume = _button("Resume", on_resume, "lab-quiet")
            self._stop = _button("Stop", on_stop, "lab-danger")
        self._facts = ui.label().classes("lab-facts lab-mono")
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
        self._show_buttons(feed)
        self._facts.set_text(_facts(run) if run else "")
        self._facts.set_visibility(run is not None)
        error = "This run was deleted." if feed and feed.is_deleted else run.error if run else None
        self._error.set_text(error or "")
        self._error.set_visibility(bool(error))

    def _show_buttons(self, feed: RunFeed | None) -> None:
        status = feed.run.status if feed and not feed.is_deleted else None
        self._pause.set_visibility(status is RunStatus.RUNNING)
        self._stop.set_visibility(status is not None and status.is_active)
        self._resume.set_visibility(feed is not None and _can_go_on(feed))

    def _reset(self) -> None:
        self._stage.clear_picture()
        self._on_reset()


def _button(text: str, on_click: Callable[[], object], look: str) -> ui.button:
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes(f"lab-button lab-compact {look}")


def _can_go_on(feed: RunFeed) -> bool:
    run = feed.run
    if feed.is_deleted:
        return False
    if run.status is RunStatus.PAUSED:
        return True
    if run.status is RunStatus.COMPLETED and run.progress.timesteps >= run.total_timesteps:
        return False
    return run.status.is_over and (feed.has_checkpoint or run.started_at is None)


def _facts(run: RunRecord) -> str:
    """Say which run this is."""
    rate = write_value(run.config["hyperparameters"].get("learning_rate"))
    facts = (run.name, run.env_id, run.algorithm, f"learning rate {rate}")
    return " · ".join((*facts, f"seed {run.config['seed']}"))


def _note(feed: RunFeed | None) -> str | None:
    if feed is None:
        return "Pick an environment and press Train."
    if feed.live_note is not None:
        return feed.live_note
    run: RunRecord = feed.run
    if run.status is RunStatus.RUNNING and feed.frames.newest is None:
        return "Waiting for the first picture."
    if run.status.is_over and feed.frames.newest is None:
        return "There is no picture of this run."
    return _NOTES.get(run.status)
