"""Progress of a run, and the formatting of durations."""

from nicegui import ui

from components.base.live_value import LiveBar, LiveText
from components.base.metrics import NOT_MEASURED
from storage.records import RunRecord, RunStatus


class ProgressBar:
    """A bar from 0 to 100 % with the steps done and the time left."""

    def __init__(self) -> None:
        with ui.element("div").classes("lab-progress") as self._box:
            self._bar = LiveBar("Progress").classes("lab-progress-bar")
            with ui.element("div").classes("lab-progress-text lab-mono"):
                self._steps = LiveText()
                self._left = LiveText()
        self._box.set_visibility(False)

    def show(self, run: RunRecord | None, *, place: int | None = None) -> None:
        """Show the progress of `run`, or nothing; `place` is its position in the queue."""
        self._box.set_visibility(run is not None)
        if run is None:
            return
        percent = 100 * run.share_done
        self._bar.show(round(percent, 1))
        done, total = run.progress.timesteps, run.total_timesteps
        self._steps.set_text(f"{percent:.0f} % · {done:,} of {total:,} steps")
        self._left.set_text(_time_text(run, place))


def _time_text(run: RunRecord, place: int | None) -> str:
    if run.status is RunStatus.QUEUED:
        return "in the queue" if place is None else f"{ordinal(place)} in the queue"
    if run.status.is_over or run.status is RunStatus.PAUSED:
        return f"took {format_seconds(run.progress.elapsed_s)}"
    if run.status is RunStatus.RUNNING and run.share_done == 1.0:
        return "final update"
    return f"{format_seconds(run.eta_s)} left"


def ordinal(number: int) -> str:
    """Format an ordinal number: 1st, 2nd, 3rd, 4th ..."""
    is_teen = number % 100 in (11, 12, 13)
    ending = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def format_seconds(seconds: float | None) -> str:
    """Format a duration; None is `-`."""
    if seconds is None:
        return NOT_MEASURED
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def format_seconds_of(seeds: int, seconds: float | None) -> str:
    """Format the duration of a run, or the mean duration of several seeds."""
    text = format_seconds(seconds)
    return text if seconds is None or seeds == 1 else f"{text} per seed"
