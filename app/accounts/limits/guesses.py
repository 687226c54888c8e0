"""How often somebody may try a password or a code."""

from app.accounts.limits.attempts import Attempts

_SIGN_IN = "attempts to sign in"


class Guesses:
    """Counts what went wrong, per account and address together, and for each of them alone.

    A class of thirty behind one router comes in, also with some mistyped passwords.
    """

    def __init__(self) -> None:
        self._pairs = Attempts(5, within_s=300)
        self._addresses = Attempts(100, within_s=300)
        # Larger than for a pair: strangers elsewhere must not lock somebody out so easily.
        self._accounts = Attempts(100, within_s=900)
        # The right password, again and again: each costs a hash, a session and a line in the log.
        self._sign_ins = Attempts(60, within_s=300)
        # Also those that were allowed: nobody needs dozens of accounts.
        self._registrations = Attempts(60, within_s=3_600)
        self._returns = Attempts(200, within_s=300)
        self._codes = Attempts(20, within_s=3_600)

    def add(self, email: str, address: str) -> None:
        """Count an attempt to sign in before it is judged, so that many at once don't help.

        Raises:
            TooManyError: if there were too many.
        """
        self._sign_ins.check(email, what=_SIGN_IN)
        self._pairs.add((email, address), what=_SIGN_IN)
        self._addresses.add(address, what=_SIGN_IN)
        self._accounts.add(email, what=_SIGN_IN)

    def was_right(self, email: str, address: str) -> None:
        """Uncount an attempt that was right, and count it as such."""
        self._pairs.take_back((email, address))
        self._addresses.take_back(address)
        self._accounts.take_back(email)
        self._sign_ins.add(email, what=_SIGN_IN)

    def add_registration(self, address: str) -> None:
        """Count an attempt to register.

        Raises:
            TooManyError: if there were too many.
        """
        self._registrations.add(address, what="attempts to register")

    def was_invited(self, address: str) -> None:
        """Uncount an attempt to register: invitations are counted by who makes them."""
        self._registrations.take_back(address)

    def add_return(self, address: str) -> None:
        """Count who comes back from a provider, which is then asked.

        Raises:
            TooManyError: if there were too many.
        """
        self._returns.add(address, what=_SIGN_IN)

    def add_code(self, address: str) -> None:
        """Count an attempt to set a password with a code.

        Raises:
            TooManyError: if there were too many.
        """
        self._codes.add(address, what="attempts")

    def code_was_right(self, address: str) -> None:
        """Uncount an attempt with a code."""
        self._codes.take_back(address)
