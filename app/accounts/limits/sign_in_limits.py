"""Limits on attempts with passwords and codes."""

from app.accounts.limits.attempts import Attempts

_SIGN_IN = "attempts to sign in"


class SignInLimits:
    """Limits failed sign-ins per account and network together and each alone, and other attempts.

    A class of thirty behind one router can sign in, even with some mistyped passwords.
    """

    def __init__(self) -> None:
        self._pairs = Attempts(5, within_s=300)
        self._networks = Attempts(100, within_s=300)
        # Larger than for a pair, so that attackers elsewhere can't easily lock a user out.
        self._accounts = Attempts(100, within_s=900)
        # Successful sign-ins are limited, too: each costs a hash, a session and a log entry.
        self._sign_ins = Attempts(60, within_s=300)
        # Includes successful registrations: no network needs dozens of accounts.
        self._registrations = Attempts(60, within_s=3_600)
        self._callbacks = Attempts(200, within_s=300)
        self._codes = Attempts(20, within_s=3_600)

    def add(self, email: str, network: str) -> None:
        """Count a sign-in attempt before it is checked, so that parallel attempts count, too.

        Raises:
            TooManyError: if there were too many.
        """
        self._sign_ins.check(email, what=_SIGN_IN)
        self._pairs.add((email, network), what=_SIGN_IN)
        self._networks.add(network, what=_SIGN_IN)
        self._accounts.add(email, what=_SIGN_IN)

    def was_right(self, email: str, network: str) -> None:
        """Uncount a successful attempt, and count it as a sign-in."""
        self._pairs.take_back((email, network))
        self._networks.take_back(network)
        self._accounts.take_back(email)
        self._sign_ins.add(email, what=_SIGN_IN)

    def add_registration(self, network: str) -> None:
        """Count an attempt to register.

        Raises:
            TooManyError: if there were too many.
        """
        self._registrations.add(network, what="attempts to register")

    def was_invited(self, network: str) -> None:
        """Uncount a registration by invitation: administrators limit those."""
        self._registrations.take_back(network)

    def add_callback(self, network: str) -> None:
        """Count a provider's callback, which makes the server send requests to the provider.

        Raises:
            TooManyError: if there were too many.
        """
        self._callbacks.add(network, what=_SIGN_IN)

    def add_code(self, network: str) -> None:
        """Count an attempt to set a password with a code.

        Raises:
            TooManyError: if there were too many.
        """
        self._codes.add(network, what="attempts")

    def code_was_right(self, network: str) -> None:
        """Uncount an attempt with a valid code."""
        self._codes.take_back(network)
