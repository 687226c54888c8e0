"""Actions for the shown run: pause, resume, stop, or train again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Flag, auto

from nicegui import ui

from app.accounts import AccessError, Principal
from app.runs.state import RunFeed
from components.base import format_number, format_seconds
from storage.records import Progress, RunRecord, RunStatus, SolvedBy

Action = Callable[[], Awaitable[None]]


class Allowed(Flag):
    """What the user may do."""

    NOTHING = 0
    CHANGE = auto()
    """Pause, resume and stop this run."""
    TRAIN = auto()
    """Start new runs."""
    ALL = CHANGE | TRAIN


def allowed_actions(principal: Principal, feed: RunFeed | None) -> Allowed:
    """Return what a principal may do besides viewing a run."""
    allowed = Allowed.NOTHING if why_not_train(principal) else Allowed.TRAIN
    if feed is not None and principal.changes(feed.run):
        allowed |= Allowed.CHANGE
    return allowed


def why_not_train(principal: Principal) -> str | None:
    """Return why a principal may not train, or None if they may."""
    try:
        principal.check_works()
    except AccessError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """The handlers of the actions."""

    pause: Action
    resume: Action
    stop: Action
    again: Action


class RunActions:
    """Shows how a run ended and what to do next; while it runs, its controls."""

    def __init__(self, on: Handlers) -> None:
        with ui.element("div").classes("lab-run-actions") as self._box:
            self._outcome = ui.label().classes("lab-small lab-grow").props('role="status"')
            self._pause = _button("Pause", on.pause, "lab-primary")
            self._resume = _button("Resume", on.resume, "lab-primary")
            self._again = _button("Train again", on.again, "lab-primary")
            self._stop = _button("Stop", on.stop, "lab-danger")

    def show(self, feed: RunFeed | None, allowed: Allowed) -> None:
        """Show the actions that the user may take."""
        run = feed.run if feed and not feed.is_deleted else None
        self._box.set_visibility(run is not None)
        if feed is None or run is None:
            return
        self._outcome.set_text(_outcome(run))
        may_change = Allowed.CHANGE in allowed
        can_resume = may_change and _can_resume(feed)
        self._pause.set_visibility(may_change and run.status is RunStatus.RUNNING)
        self._stop.set_visibility(may_change and run.status.is_active)
        self._resume.set_visibility(can_resume)
        # A failed run will fail again unless something is fixed first.
        is_main = run.status is not RunStatus.FAILED
        classes = ("lab-primary", "lab-quiet") if is_main else ("lab-quiet", "lab-primary")
        self._resume.classes(add=classes[0], remove=classes[1])
        self._again.set_visibility(
            Allowed.TRAIN in allowed and run.status.is_over and not can_resume
        )


def _button(text: str, on_click: Action, class_: str) -> ui.button:
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes(f"lab-button {class_}")


def _can_resume(feed: RunFeed) -> bool:
    run = feed.run
    if run.status is RunStatus.PAUSED:
        return True
    if run.status is RunStatus.COMPLETED and run.progress.timesteps >= run.total_timesteps:
        return False
    return run.status.is_over and (feed.has_checkpoint or run.started_at is None)


def _solved(progress: Progress) -> str:
    how = (
        "confirmed on 100 other episodes"
        if progress.solved_by is SolvedBy.EVALUATIONS
        else "by the training mean, as earlier versions judged"
    )
    return f"Solved at step {progress.solved_at:,}, {how}."


def _outcome(run: RunRecord) -> str:
    """Describe how a run ended or paused."""
    done, total = f"{run.progress.timesteps:,}", f"{run.total_timesteps:,}"
    match run.status:
        case RunStatus.COMPLETED:
            took = format_seconds(run.progress.elapsed_s)
            kind = f" ({run.score_kind.label})" if run.score_kind else ""
            score = f"Score: {format_number(run.score, 1)}{kind}."
            solved = "" if run.progress.solved_at is None else f" {_solved(run.progress)}"
            return f"Finished after {done} steps in {took}. {score}{solved}"
        case RunStatus.STOPPED if run.started_at is None:
            return "Stopped before training started."
        case RunStatus.STOPPED:
            return f"Stopped at step {done} of {total}. Its model was saved."
        case RunStatus.FAILED:
            return f"Failed at step {done} of {total}."
        case RunStatus.INTERRUPTED:
            return f"Interrupted at step {done} of {total}."
        case RunStatus.PAUSED:
            return f"Paused at step {done}. Its complete state is kept."
    return ""
