"""What can be done with the run on stage: pause, resume, stop, or train once more."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Flag, auto

from nicegui import ui

from app.runs.state.feed import RunFeed
from components.base.metrics import format_number
from components.base.progress import format_seconds
from storage.records.runs import RunRecord, RunStatus

Action = Callable[[], Awaitable[None]]


class Allowed(Flag):
    """What a visitor may do."""

    NOTHING = 0
    CHANGE = auto()
    """Pause, resume and stop this run."""
    TRAIN = auto()
    """Start runs of their own."""
    ALL = CHANGE | TRAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """What happens when somebody asks something of the run on stage."""

    pause: Action
    resume: Action
    stop: Action
    again: Action


class RunActions:
    """Says how a run ended and offers what is to be done next, once it is; until then, control."""

    def __init__(self, on: Handlers) -> None:
        with ui.element("div").classes("lab-run-actions") as self._box:
            self._words = ui.label().classes("lab-small lab-grow").props('role="status"')
            self._pause = _button("Pause", on.pause, "lab-primary")
            self._resume = _button("Resume", on.resume, "lab-primary")
            self._again = _button("Train again", on.again, "lab-primary")
            self._stop = _button("Stop", on.stop, "lab-danger")

    def show(self, feed: RunFeed | None, allowed: Allowed) -> None:
        """Show what can be done with a run by somebody who may do so much."""
        run = feed.run if feed and not feed.is_deleted else None
        self._box.set_visibility(run is not None)
        if feed is None or run is None:
            return
        self._words.set_text(_words(run))
        may_change = Allowed.CHANGE in allowed
        goes_on = may_change and _can_go_on(feed)
        self._pause.set_visibility(may_change and run.status is RunStatus.RUNNING)
        self._stop.set_visibility(may_change and run.status.is_active)
        self._resume.set_visibility(goes_on)
        # What failed will fail again unless something is mended first.
        is_main = run.status is not RunStatus.FAILED
        looks = ("lab-primary", "lab-quiet") if is_main else ("lab-quiet", "lab-primary")
        self._resume.classes(add=looks[0], remove=looks[1])
        self._again.set_visibility(Allowed.TRAIN in allowed and run.status.is_over and not goes_on)


def _button(text: str, on_click: Action, look: str) -> ui.button:
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes(f"lab-button {look}")


def _can_go_on(feed: RunFeed) -> bool:
    run = feed.run
    if run.status is RunStatus.PAUSED:
        return True
    if run.status is RunStatus.COMPLETED and run.progress.timesteps >= run.total_timesteps:
        return False
    return run.status.is_over and (feed.has_checkpoint or run.started_at is None)


def _words(run: RunRecord) -> str:
    """Say what happened, for a run to which nothing more will by itself."""
    done, total = f"{run.progress.timesteps:,}", f"{run.total_timesteps:,}"
    match run.status:
        case RunStatus.COMPLETED:
            best = format_number(run.progress.best, 1)
            took = format_seconds(run.progress.elapsed_s)
            return f"Finished after {done} steps in {took}. Best mean of 100 episodes: {best}."
        case RunStatus.STOPPED if run.started_at is None:
            return "Stopped before it began."
        case RunStatus.STOPPED:
            return f"Stopped at step {done} of {total}. Its model was kept."
        case RunStatus.FAILED:
            return f"Failed at step {done} of {total}."
        case RunStatus.INTERRUPTED:
            return f"Interrupted at step {done} of {total}."
        case RunStatus.PAUSED:
            return f"Paused at step {done}. Everything is kept."
    return ""
