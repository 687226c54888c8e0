"""Why a run ended, in one sentence."""

from dataclasses import dataclass
from enum import StrEnum

from app.workers.errors import Cause, Exit
from storage.records.runs import JsonObject, Progress, RunStatus

STOP_WITHIN_S = 10.0
"""So long a worker has to deliver its model after it was asked to stop."""


class StopWish(StrEnum):
    """Who wants a run to end."""

    PERSON = "person"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, and the sentence for it."""

    status: RunStatus
    message: str
    line: int | None = None
    """Where in the code that a person wrote, if that is the reason."""

    @property
    def data(self) -> JsonObject:
        """What else the log says about it."""
        return {} if self.line is None else {"line": self.line}

    @property
    def error(self) -> str | None:
        """What went wrong, if anything did."""
        harmless = {RunStatus.COMPLETED, RunStatus.STOPPED}
        return None if self.status in harmless else self.message


def finished(
    reason: str, wish: StopWish | None, progress: Progress, resumable_step: int | None
) -> Ending:
    """A worker did its job, or as much of it as it was let, and delivered the model."""
    steps = f"{progress.timesteps:,} steps"
    kept = f"The model was kept.{goes_on_from(resumable_step)}"
    if reason == "budget":
        message = f"Training complete: {steps} in {progress.elapsed_s:,.1f} s."
        return Ending(RunStatus.COMPLETED, message)
    if reason == "solved":
        message = f"Solved: ended after {steps} in {progress.elapsed_s:,.1f} s, before the budget."
        return Ending(RunStatus.COMPLETED, message)
    if wish is StopWish.SERVER:
        message = f"The server was shut down after {steps}. {kept}"
        return Ending(RunStatus.INTERRUPTED, message)
    return Ending(RunStatus.STOPPED, f"Stopped after {steps}. {kept}")


def goes_on_from(step: int | None) -> str:
    """Say from where a run can go on, after another sentence; nothing if it can't."""
    return "" if step is None else f" It can go on from step {step:,}."


def not_begun(wish: StopWish | None) -> Ending:
    """A run was stopped before it had a worker."""
    if wish is StopWish.SERVER:
        return Ending(RunStatus.INTERRUPTED, "The server was shut down before training began.")
    return Ending(RunStatus.STOPPED, "Stopped before it began.")


def failed(reason: str, line: int | None = None) -> Ending:
    """A worker, or what ran in it, did something wrong."""
    return Ending(RunStatus.FAILED, reason, line)


def no_disk(error: OSError) -> Ending:
    """The run's folder can't be written any more."""
    reason = error.strerror or type(error).__name__
    message = f"The runs folder can't be written: {reason}. Everything shown before is kept."
    return Ending(RunStatus.INTERRUPTED, message)


def lost(exit: Exit, wish: StopWish | None, resumable_step: int | None = None) -> Ending:
    """A worker ended without a result."""
    if wish is StopWish.SERVER:
        return Ending(RunStatus.INTERRUPTED, "The server was shut down. No model was kept.")
    if wish is StopWish.PERSON:
        message = "Stopped. The worker did not answer in time, so no model was kept."
        return Ending(RunStatus.STOPPED, message)
    match exit.cause:
        case Cause.OUTSIDE:
            signal = f" ({exit.status})" if exit.status else ""
            message = f"The worker was ended from outside{signal}, by the system or by a person."
            return Ending(RunStatus.INTERRUPTED, message + goes_on_from(resumable_step))
        case Cause.SANDBOX:
            return failed(
                "Sandbox violation: the worker tried what the sandbox forbids, and was ended."
            )
        case Cause.USER_CODE:
            return failed(exit.how, exit.line)
        case Cause.LIMIT:
            return failed(f"The worker was ended: {exit.how}.")
    return failed(f"The worker ended by itself without a word ({exit.status}).")
