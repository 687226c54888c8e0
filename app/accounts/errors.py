"""Errors of accounts, each with a code for programs and a sentence for users."""

import math
from http import HTTPStatus

from app.core import InputError
from storage import LabError


class AccessError(LabError):
    """A request was refused."""

    status = HTTPStatus.FORBIDDEN
    code = "forbidden"


class NotSignedInError(AccessError):
    """The request has no valid credential, or it has ended."""

    status = HTTPStatus.UNAUTHORIZED
    code = "not_signed_in"

    def __init__(self) -> None:
        super().__init__("Sign in first: with a session at /login, or with an API token.")


class WrongCredentialsError(AccessError):
    """The address or the password is wrong; the answer does not reveal which."""

    status = HTTPStatus.UNAUTHORIZED
    code = "wrong_credentials"

    def __init__(self) -> None:
        super().__init__("The e-mail address or the password is wrong.")


class ForbiddenError(AccessError):
    """This user may not do this."""


class HiddenError(AccessError):
    """The user may not know that something exists: answered as if it didn't."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class ReadOnlyTokenError(AccessError):
    """A read-only token was used to write."""

    code = "read_only_token"

    def __init__(self) -> None:
        super().__init__("This token may only read. Create one with the scope write at /profile.")


class RegistrationRefusedError(AccessError):
    """The user may not create an account, or not in this way."""

    code = "registration_refused"


class NotResettableError(AccessError):
    """A code for a password reset is unknown, used or expired."""

    code = "reset_refused"

    def __init__(self) -> None:
        super().__init__(
            "This code is unknown, used or expired. Ask an administrator for another.",
            field="code",
        )


class OverLimitError(AccessError):
    """A user has reached a limit."""

    status = HTTPStatus.CONFLICT
    code = "over_limit"


class AccountsOffError(AccessError):
    """The server has no accounts."""

    status = HTTPStatus.NOT_FOUND
    code = "accounts_off"

    def __init__(self) -> None:
        super().__init__("This server has no accounts. Start it with --auth on to enable them.")


class AccountsUnavailableError(AccessError):
    """The database can't be read to authenticate a request."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "not_written"


class HubNotReachedError(AccessError):
    """The Hugging Face Hub is not reachable."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_network"


class UnknownProxyError(AccessError):
    """A proxy forwards to a server without accounts, which is meant for its own machine only."""

    code = "unknown_proxy"

    def __init__(self) -> None:
        super().__init__(
            "This request seems to come through a proxy, and the server has no accounts. "
            "Start it with --proxy ADDRESS."
        )


class UnknownThingError(AccessError):
    """Nothing has this id, or it belongs to another user."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class GoneError(AccessError):
    """Something existed and was removed for good."""

    status = HTTPStatus.GONE
    code = "gone"


class TooManyError(AccessError):
    """A client sends too many requests; it may retry later."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many"

    def __init__(self, retry_after_s: float, what: str = "requests") -> None:
        self.retry_after_s = max(1, math.ceil(retry_after_s))
        super().__init__(f"Too many {what}. Try again in {self.retry_after_s} s.")


class BusyError(AccessError):
    """Too many requests wait for a password check."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "busy"
    retry_after_s = 5

    def __init__(self) -> None:
        super().__init__(f"Too many sign-ins at the moment. Try again in {self.retry_after_s} s.")


class TakenError(InputError):
    """Another account has this e-mail address."""

    code = "email_taken"

    def __init__(self) -> None:
        super().__init__("There is an account with this address. Sign in instead.", field="email")
