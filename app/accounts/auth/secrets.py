"""Random things that prove something, and the server's own secret."""

import base64
import hashlib
import secrets
import time
from collections.abc import Callable

from cryptography.fernet import Fernet, InvalidToken

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without those that look alike."""
_TOKEN_PREFIX = "rll_"
"""So that scanners find lost ones."""


def new_session_token() -> str:
    """Return what a browser shows from now on."""
    return secrets.token_urlsafe(32)


def new_api_token() -> str:
    """Return what a program shows from now on."""
    return _TOKEN_PREFIX + secrets.token_urlsafe(32)


def new_code(groups: int = 2) -> str:
    """Return a code that people can read and type, such as `K7PM-2XQD`."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(groups))


def typed_code(text: str) -> str:
    """Return a code as it was made, from what somebody typed or pasted."""
    return "".join(text.split()).upper()


def digest(token: str) -> str:
    """Return what is kept of a token: whoever reads the database can't show the token itself."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def same_code(given: str, expected: str) -> bool:
    """Compare codes in a time that says nothing, however people wrote theirs."""
    return secrets.compare_digest(_plain(given).encode(), _plain(expected).encode())


def _plain(code: str) -> str:
    return "".join(letter for letter in code.upper() if letter.isalnum())


class Vault:
    """Encrypts with the server's secret what must be kept but not read or changed by others.

    What was locked for one purpose opens for no other.
    """

    def __init__(
        self, secret: bytes, *, purpose: str = "vault", clock: Callable[[], float] = time.time
    ) -> None:
        key = hashlib.sha256(f"rl-lab {purpose}".encode() + secret).digest()
        self._fernet = Fernet(base64.urlsafe_b64encode(key))
        self._clock = clock

    def lock(self, text: str) -> str:
        """Return `text` encrypted."""
        return self._fernet.encrypt_at_time(text.encode(), int(self._clock())).decode()

    def unlock(self, locked: str, *, within_s: int | None = None) -> str | None:
        """Return what was locked, or None if it was with another secret, or too long ago."""
        try:
            if within_s is None:
                return self._fernet.decrypt(locked.encode()).decode()
            now = int(self._clock())
            return self._fernet.decrypt_at_time(locked.encode(), within_s, now).decode()
        except InvalidToken:
            return None
