"""The live feed: frames or a video of the shown run, its state, and the buttons."""

from collections.abc import Callable

from nicegui import ui

from app.core import write_value
from app.run_config import environment_label, readable_config
from app.runs.state import RunFeed
from components.base import ProgressBar, StatusBadge, explained
from components.evaluation import EvaluationState, EvaluationVideo
from components.run.frame_stream import FrameStream
from components.run.record_button import RecordButton
from components.run.run_actions import Allowed, Handlers, RunActions
from storage.records import RunRecord, RunStatus

_NOTES = {
    RunStatus.CREATED: "Not started yet.",
    RunStatus.QUEUED: "Waiting for a free worker.",
    RunStatus.STARTING: "Starting the worker.",
    RunStatus.PAUSED: "Paused.",
}


class LiveFeed:
    """Shows one run at a time."""

    def __init__(
        self,
        head: ui.element,
        *,
        on: Handlers,
        on_reset: Callable[[], None],
        state: EvaluationState,
    ) -> None:
        self._on_reset = on_reset
        self._state = state
        with head:
            self._badge = StatusBadge()
            self._record = RecordButton(state)
            with _button("Reset", self._reset, "lab-quiet"):
                ui.tooltip("Clear the view. Nothing is deleted.")
        self._facts = ui.label().classes("lab-facts lab-mono")
        self._frames = FrameStream()
        self._video = EvaluationVideo(on_back=state.back_to_live)
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

        `place` is its position in the queue, `allowed` what the user may do with it.
        """
        run = feed.run if feed else None
        env_id = run.env_id if run else chosen_env_id
        video, evaluation = self._state.displayed, self._state.under_way
        self._video.show(video, run)
        self._frames.set_visibility(video is None)
        self._frames.show(
            # While a video covers the live view, no frames are requested.
            url=f"/api/runs/{run.id}/frames" if run and video is None else None,
            still=f"/api/environments/{env_id}/preview.png",
            note=_note(feed) if evaluation is None else None,
            live=run is not None and (run.status is RunStatus.RUNNING or evaluation is not None),
        )
        self._badge.show(run.status if run else None)
        self._progress.show(run, place=place)
        self._downloads.set_visibility(feed is not None and feed.has_model)
        if run is not None:
            self._model.props(f'href="/api/runs/{run.id}/artifacts/model.zip" download')
        self._record.show(feed, may_change=feed is not None and self._state.may_change(feed))
        self._actions.show(feed, allowed)
        self._facts.set_text(_facts(run) if run else "")
        self._facts.set_visibility(run is not None)
        error = "This run was deleted." if feed and feed.is_deleted else run.error if run else None
        self._error.set_text(error or "")
        self._error.set_visibility(bool(error))

    def _reset(self) -> None:
        self._frames.clear_frame()
        self._on_reset()


def _button(text: str, on_click: Callable[[], object], class_: str) -> ui.button:
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes(f"lab-button lab-compact {class_}")


def _facts(run: RunRecord) -> str:
    """Return the name, environment, algorithm, learning rate, seed and origin of a run."""
    facts = [run.name, environment_label(run), run.algorithm]
    if (config := readable_config(run)) is None:
        return " · ".join(facts)
    unknown = config.origin.unknown if config.origin else ()
    values = {
        "learning_rate": write_value(config.hyperparameters.get("learning_rate")),
        "seed": str(config.seed),
    }
    for name, value in values.items():
        facts.append(f"{name.replace('_', ' ')} {'unknown' if name in unknown else value}")
    if config.origin is not None:
        facts.append(f"pulled from {config.origin.source}, not trained here")
    return " · ".join(facts)


def _note(feed: RunFeed | None) -> str | None:
    if feed is None:
        return "Pick an environment and press Train."
    if feed.live_note is not None:
        return feed.live_note
    run: RunRecord = feed.run
    if run.status is RunStatus.RUNNING and feed.frames.newest is None:
        return "Waiting for the first frame."
    if run.status.is_over and feed.frames.newest is None:
        return (
            "Press Test to evaluate the policy."
            if feed.has_policy
            else "There are no frames of this run."
        )
    return _NOTES.get(run.status)
