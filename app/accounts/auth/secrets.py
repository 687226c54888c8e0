"""Random tokens and codes, and encryption with the server's secret."""

import base64
import hashlib
import secrets
import time
from collections.abc import Callable

from cryptography.fernet import Fernet, InvalidToken

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without letters and digits that look alike."""
_TOKEN_PREFIX = "rll_"
"""Lets secret scanners recognize leaked tokens."""


def new_session_token() -> str:
    """Return a random token for a browser session."""
    return secrets.token_urlsafe(32)


def new_api_token() -> str:
    """Return a random API token for a program."""
    return _TOKEN_PREFIX + secrets.token_urlsafe(32)


def new_code(groups: int = 2) -> str:
    """Return a code that users can read and type, such as `K7PM-2XQD`."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(groups))


def typed_code(text: str) -> str:
    """Normalize a code that a user typed or pasted."""
    return "".join(text.split()).upper()


def digest(token: str) -> str:
    """Return the hash that is stored of a token: a database leak does not reveal the token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def same_code(given: str, expected: str) -> bool:
    """Compare codes in constant time, ignoring case and separators."""
    return secrets.compare_digest(_plain(given).encode(), _plain(expected).encode())


def _plain(code: str) -> str:
    return "".join(letter for letter in code.upper() if letter.isalnum())


class Vault:
    """Encrypts and authenticates stored values with the server's secret.

    A value encrypted for one purpose can't be decrypted for another.
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
        """Return the decrypted text, or None if it is forged or older than `within_s`."""
        try:
            if within_s is None:
                return self._fernet.decrypt(locked.encode()).decode()
            now = int(self._clock())
            return self._fernet.decrypt_at_time(locked.encode(), within_s, now).decode()
        except InvalidToken:
            return None
