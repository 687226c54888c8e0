"""What is refused to who has a reward checked, each with a sentence for people."""

from http import HTTPStatus

from app.accounts.errors import AccessError


class CannotCheckError(AccessError):
    """A check can't be made right now; the message says why."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_worker"
