"""Errors of reward checks, with messages for users."""

from http import HTTPStatus

from app.accounts import AccessError


class CannotCheckError(AccessError):
    """A check is temporarily impossible; the message says why."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_worker"
