"""Why a run ended, in one sentence."""

from dataclasses import dataclass
from enum import StrEnum

from app.workers import Cause, Exit
from storage.records import JsonObject, Progress, RunStatus

STOP_WITHIN_S = 10.0
"""How long a worker may take to deliver its model after a stop request."""


class StopRequest(StrEnum):
    """A request to end a run, named after who made it."""

    USER = "user"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, with a sentence that explains it."""

    status: RunStatus
    message: str
    line: int | None = None
    """Line in the user's code that caused it, if any."""

    @property
    def data(self) -> JsonObject:
        """Additional data for the event log."""
        return {} if self.line is None else {"line": self.line}

    @property
    def error(self) -> str | None:
        """The error, None if the run completed or was stopped."""
        harmless = {RunStatus.COMPLETED, RunStatus.STOPPED}
        return None if self.status in harmless else self.message


def finished(
    reason: str, stop_request: StopRequest | None, progress: Progress, resumable_step: int | None
) -> Ending:
    """The worker completed or stopped its job and delivered the model."""
    steps = f"{progress.timesteps:,} steps"
    saved = f"The model was saved.{resume_hint(resumable_step)}"
    if reason == "budget":
        message = f"Training complete: {steps} in {progress.elapsed_s:,.1f} s."
        return Ending(RunStatus.COMPLETED, message)
    if reason == "solved":
        message = f"Solved: ended after {steps} in {progress.elapsed_s:,.1f} s, before the budget."
        return Ending(RunStatus.COMPLETED, message)
    if stop_request is StopRequest.SERVER:
        message = f"The server was shut down after {steps}. {saved}"
        return Ending(RunStatus.INTERRUPTED, message)
    return Ending(RunStatus.STOPPED, f"Stopped after {steps}. {saved}")


def resume_hint(step: int | None) -> str:
    """Return a sentence to append on the step to resume from; empty if there is none."""
    return "" if step is None else f" It can be resumed from step {step:,}."


def not_started(stop_request: StopRequest | None) -> Ending:
    """The run was stopped before it had a worker."""
    if stop_request is StopRequest.SERVER:
        return Ending(RunStatus.INTERRUPTED, "The server was shut down before training started.")
    return Ending(RunStatus.STOPPED, "Stopped before training started.")


def failed(reason: str, line: int | None = None) -> Ending:
    """The worker, or the code that it ran, failed."""
    return Ending(RunStatus.FAILED, reason, line)


def disk_error(error: OSError) -> Ending:
    """The run's folder is no longer writable."""
    reason = error.strerror or type(error).__name__
    message = f"The runs folder can't be written: {reason}. Everything shown so far is saved."
    return Ending(RunStatus.INTERRUPTED, message)


def lost(exit: Exit, stop_request: StopRequest | None, resumable_step: int | None = None) -> Ending:
    """The worker ended without a result."""
    if stop_request is StopRequest.SERVER:
        return Ending(RunStatus.INTERRUPTED, "The server was shut down. No model was saved.")
    if stop_request is StopRequest.USER:
        message = "Stopped. The worker did not answer in time, so no model was saved."
        return Ending(RunStatus.STOPPED, message)
    match exit.cause:
        case Cause.OUTSIDE:
            signal = f" ({exit.status})" if exit.status else ""
            message = f"The worker was killed from outside{signal}, by the system or by a user."
            return Ending(RunStatus.INTERRUPTED, message + resume_hint(resumable_step))
        case Cause.SANDBOX:
            return failed(
                "Sandbox violation: the worker tried a forbidden operation and was ended."
            )
        case Cause.USER_CODE:
            return failed(exit.reason, exit.line)
        case Cause.LIMIT:
            return failed(f"The worker was ended: {exit.reason}.")
    return failed(f"The worker exited without a message ({exit.status}).")
