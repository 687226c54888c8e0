"""The video of an evaluation, shown in place of the live feed."""

from collections.abc import Callable

from nicegui import ui

from app.evaluation import Evaluation
from components.base import format_number, quiet_button
from components.evaluation.replay import Replay
from storage.records import RunRecord


class EvaluationVideo:
    """A native player with a caption, a download link and a button back to the live view."""

    def __init__(self, *, on_back: Callable[[], None]) -> None:
        self._shown: str | None = None
        with ui.element("div").classes("lab-video") as self._box:
            with ui.element("div").classes("lab-stage"):
                self._player = ui.element("video").props(
                    'controls playsinline preload="metadata" aria-label="Video of the evaluation"'
                )
                with ui.element("div").classes("lab-stage-badges"):
                    self._kind = ui.label().classes("lab-stage-badge")
                    self._score = ui.label().classes("lab-stage-badge")
            with ui.element("div").classes("lab-video-bar"):
                self._note = ui.label().classes("lab-small lab-grow")
                self._link = ui.element("a").classes("lab-mono")
                with self._link:
                    ui.label("Download video").classes("lab-inline")
                self._back = quiet_button("", on_back)
            self._replay = Replay()
        self._box.set_visibility(False)

    def show(self, evaluation: Evaluation | None, run: RunRecord | None) -> None:
        """Show the video of an evaluation, or nothing."""
        self._box.set_visibility(evaluation is not None)
        if evaluation is None:
            if self._shown is not None:
                self._player.run_method("pause")
                self._replay.show(None, None)
            self._shown = None
            return
        is_live = run is not None and run.status.is_active
        self._back.set_text("Back to live view" if is_live else "Close video")
        if evaluation.id == self._shown:
            return
        self._shown = evaluation.id
        url = video_url(evaluation)
        self._player.props(f'src="{url}" data-test="{evaluation.id}"')
        self._link.props(f'href="{url}?download=true" download')
        self._kind.set_text(evaluation.kind)
        self._score.set_text(f"Mean {format_number(evaluation.mean_return, 1)}")
        self._score.set_visibility(evaluation.mean_return is not None)
        self._note.set_text(_caption(evaluation))
        self._replay.show(evaluation, run)


def video_url(evaluation: Evaluation) -> str:
    """Return the address of a video."""
    return f"/api/runs/{evaluation.run_id}/evaluations/{evaluation.id}/video"


def clips_text(evaluation: Evaluation) -> str:
    """Describe the clips of an evolution video, or return its status if it isn't ready."""
    if not evaluation.has_video:
        return str(evaluation.status)
    return f"{evaluation.episodes} clips up to step {evaluation.timesteps or 0:,}"


def _caption(evaluation: Evaluation) -> str:
    if evaluation.video_note is not None:
        return evaluation.video_note
    if evaluation.kind == "evolution":
        return f"{clips_text(evaluation)}, each on the same seed."
    count = f"{evaluation.episodes} episodes" if evaluation.episodes != 1 else "1 episode"
    steps = evaluation.timesteps
    return f"{count}." if steps is None else f"{count} after {steps:,} training steps."
