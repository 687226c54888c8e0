"""Random things that prove something, and the server's own secret."""

import base64
import hashlib
import secrets

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


def digest(token: str) -> str:
    """Return what is kept of a token: whoever reads the database can't show the token itself."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def same_code(given: str, expected: str) -> bool:
    """Compare codes in a time that says nothing, however people wrote theirs."""
    return secrets.compare_digest(_plain(given).encode(), _plain(expected).encode())


def _plain(code: str) -> str:
    return "".join(letter for letter in code.upper() if letter.isalnum())


class Vault:
    """Encrypts with the server's secret what must be kept but not read by others."""

    def __init__(self, secret: bytes) -> None:
        key = hashlib.sha256(b"rl-lab vault" + secret).digest()
        self._fernet = Fernet(base64.urlsafe_b64encode(key))

    def lock(self, text: str) -> str:
        """Return `text` encrypted."""
        return self._fernet.encrypt(text.encode()).decode()

    def unlock(self, locked: str) -> str | None:
        """Return what was locked, or None if it was with another secret."""
        try:
            return self._fernet.decrypt(locked.encode()).decode()
        except InvalidToken:
            return None
