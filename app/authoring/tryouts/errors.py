"""Errors of tryouts, with messages for users."""

from http import HTTPStatus

from app.accounts import AccessError


class NoFreeSlotError(AccessError):
    """All side slots are in use."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_worker"

    def __init__(self) -> None:
        super().__init__(
            "The limit of open live views and previews is reached. Try again in a moment."
        )


class TooManyTryoutsError(AccessError):
    """The user has the maximum number of tryouts."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"You have {limit} open previews already. Close one of them, then try again."
        )


class TryoutEndedError(AccessError):
    """A tryout has ended; the message says why."""

    status = HTTPStatus.CONFLICT
    code = "preview_ended"


class WrongModeError(AccessError):
    """The request is not possible in the current mode or state."""

    status = HTTPStatus.CONFLICT
    code = "wrong_mode"


class NothingToKeepError(AccessError):
    """There is no episode to save."""

    status = HTTPStatus.CONFLICT
    code = "nothing_to_keep"
