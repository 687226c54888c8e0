"""What is refused to who tries an environment out, each with a sentence for people."""

from http import HTTPStatus

from app.accounts.errors import AccessError


class NoRoomError(AccessError):
    """Every worker that may be used beside training is busy."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_worker"

    def __init__(self) -> None:
        super().__init__(
            "As many environments and runs are being watched as may be at once. "
            "Try again in a moment."
        )


class TooManyTryoutsError(AccessError):
    """Somebody tries as many environments out as one person may."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"You are trying {most} environments out already. End one of them, then try again."
        )


class TryoutEndedError(AccessError):
    """An environment can't be tried out any further; the message says why."""

    status = HTTPStatus.CONFLICT
    code = "preview_ended"


class WrongModeError(AccessError):
    """Steps are taken by somebody else."""

    status = HTTPStatus.CONFLICT
    code = "wrong_mode"


class NothingToKeepError(AccessError):
    """There is no episode to keep."""

    status = HTTPStatus.CONFLICT
    code = "nothing_to_keep"
