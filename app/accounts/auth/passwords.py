"""Password rules, and bcrypt on its own threads, because it is slow by design."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

import bcrypt

from app.accounts.limits import Turns
from app.core import InputError

P = ParamSpec("P")
T = TypeVar("T")

MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH = 10, 72
"""In bytes of UTF-8; bcrypt ignores everything after 72 bytes, so longer ones are refused."""

_THREADS = 2
_MAX_WAITING = 90
"""About 15 s of work; beyond that, requests are refused as busy (503)."""


def check_password(password: str, *, field: str = "password") -> None:
    """Refuse passwords that are too short, or too long for bcrypt.

    Raises:
        InputError: with the reason.
    """
    size = len(_bytes(password))
    if size < MIN_PASSWORD_LENGTH:
        raise InputError(f"{field} must be at least {MIN_PASSWORD_LENGTH} bytes long.", field=field)
    if size > MAX_PASSWORD_LENGTH:
        raise InputError(
            f"{field} must be at most {MAX_PASSWORD_LENGTH} bytes long in UTF-8, this one has "
            f"{size}. Letters beyond ASCII count two to four.",
            field=field,
        )


class Passwords:
    """Creates and compares password hashes without blocking the event loop."""

    def __init__(self, cost: int) -> None:
        self._cost = cost
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="bcrypt")
        self._turns = Turns(_THREADS, max_waiting=_MAX_WAITING)
        self._dummy_hash: bytes | None = None

    async def hash(self, password: str, *, network: str) -> str:
        """Return the hash of a password; `network` is where the request comes from.

        Raises:
            BusyError: if too many requests wait for bcrypt.
        """
        async with self._turns.turn(network):
            return (await self._on_thread(self._hash, _bytes(password))).decode()

    async def matches(self, password: str, hashed: str | None, *, network: str) -> bool:
        """Compare a password with a hash, in the same time if there is none.

        Raises:
            BusyError: if too many requests wait for bcrypt.
        """
        async with self._turns.turn(network):
            return await self._on_thread(self._compare, _bytes(password), hashed)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _on_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        call = partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _hash(self, password: bytes) -> bytes:
        return bcrypt.hashpw(password, bcrypt.gensalt(self._cost))

    def _compare(self, password: bytes, hashed: str | None) -> bool:
        if self._dummy_hash is None:
            self._dummy_hash = self._hash(b"nobody's password")
        against = self._dummy_hash if hashed is None else hashed.encode()
        is_same = bcrypt.checkpw(password[:MAX_PASSWORD_LENGTH], against)
        return is_same and hashed is not None and len(password) <= MAX_PASSWORD_LENGTH


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "replace")
