"""The video of a test in the place of the live feed."""

from collections.abc import Callable

from nicegui import ui

from app.evaluation.evaluation import Evaluation
from components.base.buttons import quiet_button
from components.base.metrics import format_number
from components.evaluation.replay import Replay
from storage.records.runs import RunRecord


class EvaluationVideo:
    """A native player, what it shows, a download and the way back."""

    def __init__(self, *, on_back: Callable[[], None]) -> None:
        self._shown: str | None = None
        with ui.element("div").classes("lab-video") as self._box:
            with ui.element("div").classes("lab-stage"):
                self._player = ui.element("video").props(
                    'controls playsinline preload="metadata" aria-label="Video of the test"'
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

    def show(self, test: Evaluation | None, run: RunRecord | None) -> None:
        """Show the video of a test, or nothing."""
        self._box.set_visibility(test is not None)
        if test is None:
            if self._shown is not None:
                self._player.run_method("pause")
                self._replay.show(None, None)
            self._shown = None
            return
        is_live = run is not None and run.status.is_active
        self._back.set_text("Back to live" if is_live else "Close video")
        if test.id == self._shown:
            return
        self._shown = test.id
        url = video_url(test)
        self._player.props(f'src="{url}" data-test="{test.id}"')
        self._link.props(f'href="{url}?download=true" download')
        self._kind.set_text(test.kind)
        self._score.set_text(f"Mean {format_number(test.mean_return, 1)}")
        self._score.set_visibility(test.mean_return is not None)
        self._note.set_text(_words(test))
        self._replay.show(test, run)


def video_url(test: Evaluation) -> str:
    """Return the address of a video."""
    return f"/api/runs/{test.run_id}/evaluations/{test.id}/video"


def moments_words(test: Evaluation) -> str:
    """Say how many moments an evolution video has, or how far it is."""
    if not test.has_video:
        return str(test.status)
    return f"{test.episodes} moments up to step {test.timesteps or 0:,}"


def _words(test: Evaluation) -> str:
    if test.video_note is not None:
        return test.video_note
    if test.kind == "evolution":
        return f"{moments_words(test)}, each on the same seed."
    count = f"{test.episodes} episodes" if test.episodes != 1 else "1 episode"
    steps = "" if test.timesteps is None else f" after {test.timesteps:,} steps of training"
    return f"{count}{steps}."
