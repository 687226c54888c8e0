"""The live feed: the stage, what it shows, and the button that ends it."""

from collections.abc import Callable

from nicegui import ui

from app.runs.state.feed import RunFeed
from components.base.explain import explained
from components.base.hyperparameter_field import write_value
from components.base.progress import ProgressBar
from components.base.status_badge import StatusBadge
from components.evaluation.evaluation_desk import EvaluationDesk
from components.evaluation.evaluation_video import EvaluationVideo
from components.run.frame_stream import FrameStream
from components.run.record_button import RecordButton
from components.run.run_actions import Allowed, Handlers, RunActions
from storage.records.runs import RunRecord, RunStatus

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
        on: Handlers,
        on_reset: Callable[[], None],
        desk: EvaluationDesk,
    ) -> None:
        self._on_reset = on_reset
        self._desk = desk
        with head:
            self._badge = StatusBadge()
            self._record = RecordButton(desk)
            with _button("Reset", self._reset, "lab-quiet"):
                ui.tooltip("Clear the view. Nothing is deleted.")
        self._facts = ui.label().classes("lab-facts lab-mono")
        self._stage = FrameStream()
        self._video = EvaluationVideo(on_back=desk.back_to_live)
        with ui.element("div").classes("lab-explained lab-padded"):
            explained("live_feed")
        self._actions = RunActions(on)
        self._progress = ProgressBar()
        with ui.element("div").classes("lab-downloads") as self._downloads:
            self._model = ui.element("a").classes("lab-mono")
            with self._model:
                ui.label("Download model.zip").classes("lab-inline")
            ui.label("A plain Stable-Baselines3 file.").classes("lab-small")
        self._error = ui.label().classes("lab-error lab-padded").props('role="alert"')

    def show(
        self,
        feed: RunFeed | None,
        *,
        chosen_env_id: str,
        place: int | None = None,
        allowed: Allowed = Allowed.ALL,
    ) -> None:
        """Show a run, or the chosen environment while there is none.

        `place` is the one it has in the queue, `allowed` what may be done with it.
        """
        run = feed.run if feed else None
        env_id = run.env_id if run else chosen_env_id
        video, test = self._desk.on_stage, self._desk.under_way
        self._video.show(video, run)
        self._stage.set_visibility(video is None)
        self._stage.show(
            # Nobody looks at what a video covers.
            url=f"/api/runs/{run.id}/frames" if run and video is None else None,
            still=f"/api/environments/{env_id}/preview.png",
            note=_note(feed) if test is None else None,
            live=run is not None and (run.status is RunStatus.RUNNING or test is not None),
        )
        self._badge.show(run.status if run else None)
        self._progress.show(run, place=place)
        self._downloads.set_visibility(feed is not None and feed.has_model)
        if run is not None:
            self._model.props(f'href="/api/runs/{run.id}/artifacts/model.zip" download')
        self._record.show(feed, may_change=feed is not None and self._desk.may_change(feed))
        self._actions.show(feed, allowed)
        self._facts.set_text(_facts(run) if run else "")
        self._facts.set_visibility(run is not None)
        error = "This run was deleted." if feed and feed.is_deleted else run.error if run else None
        self._error.set_text(error or "")
        self._error.set_visibility(bool(error))

    def _reset(self) -> None:
        self._stage.clear_picture()
        self._on_reset()


def _button(text: str, on_click: Callable[[], object], look: str) -> ui.button:
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes(f"lab-button lab-compact {look}")


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
        return (
            "Press Test to watch it play."
            if feed.has_policy
            else "There is no picture of this run."
        )
    return _NOTES.get(run.status)
