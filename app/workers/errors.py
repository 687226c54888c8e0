"""Why a job in a worker was not completed; each message is a clause, not a sentence."""

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """What ended a worker before its job was done."""

    OUTSIDE = "outside"
    """The system, or a user of the machine."""
    SANDBOX = "sandbox"
    """It tried a forbidden operation."""
    LIMIT = "limit"
    """It exceeded a resource limit, or was silent for too long."""
    USER_CODE = "user_code"
    """A user's code hung in it, or crashed it."""
    ITSELF = "itself"


@dataclass(frozen=True, slots=True)
class Exit:
    """How a worker ended."""

    cause: Cause
    reason: str
    """A clause, not a sentence."""
    status: str = ""
    """The signal or the exit code."""
    line: int | None = None
    """Line in the user's code that caused it, if any."""


class JobError(Exception):
    """A worker did not complete its job."""


class NoWorkerError(JobError):
    """No worker could be started."""


class WorkerGoneError(JobError):
    """The worker closed its pipe without an answer."""

    def __init__(
        self, reason: str = "it ended without a message", *, exit: Exit | None = None
    ) -> None:
        self.exit = exit or Exit(Cause.OUTSIDE, reason)
        super().__init__(self.exit.reason)


class ProtocolError(JobError):
    """The worker violated the protocol."""


class JobFailedError(JobError):
    """The worker reports why its job failed; `line` is the one in the user's code, if any."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


class JobRefusedError(JobError):
    """The worker refuses its input; the message is a sentence for the user."""


class TooLongError(JobError):
    """The job exceeded its time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it took longer than {seconds:g} s")
