"""What accounts refuse, each with a code for programs and a sentence for people."""

import math
from http import HTTPStatus

from app.core.errors import InputError
from storage.errors import LabError


class AccessError(LabError):
    """Somebody asked for what they may not have."""

    status = HTTPStatus.FORBIDDEN
    code = "forbidden"


class NotSignedInError(AccessError):
    """Nobody knows who asks, or not any more."""

    status = HTTPStatus.UNAUTHORIZED
    code = "not_signed_in"

    def __init__(self) -> None:
        super().__init__("Sign in first: with a session at /login, or with an API token.")


class WrongCredentialsError(AccessError):
    """The address or the password is wrong; it isn't said which."""

    status = HTTPStatus.UNAUTHORIZED
    code = "wrong_credentials"

    def __init__(self) -> None:
        super().__init__("The e-mail address or the password is wrong.")


class ForbiddenError(AccessError):
    """This person may not do this."""


class HiddenError(AccessError):
    """This person may not even know that it exists: answered as if it didn't."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class ReadOnlyTokenError(AccessError):
    """A token for reading was used to write."""

    code = "read_only_token"

    def __init__(self) -> None:
        super().__init__("This token may only read. Make one with the scope write at /profile.")


class RegistrationRefusedError(AccessError):
    """This person may not make an account, or not this way."""

    code = "registration_refused"


class NotResettableError(AccessError):
    """A code that lets nobody set a password, or not any more."""

    code = "reset_refused"

    def __init__(self) -> None:
        super().__init__(
            "This code is unknown, used or expired. Ask an administrator for another.",
            field="code",
        )


class OverLimitError(AccessError):
    """Somebody has used up what they may use."""

    status = HTTPStatus.CONFLICT
    code = "over_limit"


class AccountsOffError(AccessError):
    """The server has no accounts."""

    status = HTTPStatus.NOT_FOUND
    code = "accounts_off"

    def __init__(self) -> None:
        super().__init__("This server has no accounts. Start it with --auth on to have some.")


class NotNowError(AccessError):
    """The database can't say who asks."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "not_written"


class HubNotReachedError(AccessError):
    """The Hugging Face Hub can't be asked now."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_network"


class UnknownProxyError(AccessError):
    """Without accounts the server is for its own machine, and a proxy would let everybody in."""

    code = "unknown_proxy"

    def __init__(self) -> None:
        super().__init__(
            "This request seems to come through a proxy, and the server has no accounts. "
            "Start it with --proxy ADDRESS."
        )


class UnknownThingError(AccessError):
    """There is nothing of this id, or it is somebody else's."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class GoneError(AccessError):
    """There was such a thing, and there won't be again."""

    status = HTTPStatus.GONE
    code = "gone"


class TooManyError(AccessError):
    """Somebody asks too often; later they may ask again."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many"

    def __init__(self, retry_after_s: float, what: str = "requests") -> None:
        self.retry_after_s = max(1, math.ceil(retry_after_s))
        super().__init__(f"Too many {what}. Try again in {self.retry_after_s} s.")


class BusyError(AccessError):
    """More passwords are being checked than the server can check in a while."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "busy"
    retry_after_s = 5

    def __init__(self) -> None:
        super().__init__(f"Too many people sign in right now. Try again in {self.retry_after_s} s.")


class TakenError(InputError):
    """Somebody has this address."""

    code = "email_taken"

    def __init__(self) -> None:
        super().__init__("There is an account with this address. Sign in instead.", field="email")
