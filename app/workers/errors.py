"""Why a job in a worker came to no end; each message is half a sentence."""

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """What ended a worker before its job was done."""

    OUTSIDE = "outside"
    """The system, or a person."""
    SANDBOX = "sandbox"
    """It tried what is forbidden."""
    LIMIT = "limit"
    """It used too much of something, or was silent for too long."""
    USER_CODE = "user_code"
    """Code of a user hung in it, or crashed it."""
    ITSELF = "itself"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a worker ended."""

    cause: Cause
    how: str
    """Half a sentence."""
    status: str = ""
    """The signal or the exit code."""
    line: int | None = None
    """Where in a user's code, if that was it."""


class JobError(Exception):
    """A worker did not do its job."""


class NoWorkerError(JobError):
    """No worker could be started."""


class WorkerGoneError(JobError):
    """The worker closed its pipe without an answer."""

    def __init__(self, how: str = "it ended without a word", *, exit: Exit | None = None) -> None:
        self.exit = exit or Exit(Cause.OUTSIDE, how)
        super().__init__(self.exit.how)


class ProtocolError(JobError):
    """The worker sent something that no honest worker sends."""


class JobFailedError(JobError):
    """The worker says why it can't do its job; `line` is the one in a user's code, if any."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


class JobRefusedError(JobError):
    """The worker refuses what it was given, in a sentence for whoever gave it."""


class TooLongError(JobError):
    """The job took longer than it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it took longer than {seconds:g} s")
