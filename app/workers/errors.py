"""Why a job in a worker came to no end; each message is half a sentence."""


class JobError(Exception):
    """A worker did not do its job."""


class NoWorkerError(JobError):
    """No worker could be started."""


class WorkerGoneError(JobError):
    """The worker closed its pipe without an answer."""

    def __init__(self, how: str = "it ended without a word") -> None:
        super().__init__(how)


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
