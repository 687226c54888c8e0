"""Passwords: what makes one, and bcrypt on threads of its own, because it is slow on purpose."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

import bcrypt

from app.accounts.limits.turns import Turns
from app.core.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")

SHORTEST, LONGEST = 10, 72
"""In bytes of UTF-8; bcrypt reads no more than 72, and a rest that nobody checks is a trap."""

_THREADS = 2
_MOST_WAITING = 90
"""About a quarter of a minute's work; who comes then is told to come again."""


def check_password(password: str, *, field: str = "password") -> None:
    """Refuse what bcrypt can't keep apart or others could guess.

    Raises:
        InputError: with the reason.
    """
    size = len(_bytes(password))
    if size < SHORTEST:
        raise InputError(f"{field} must be at least {SHORTEST} bytes long.", field=field)
    if size > LONGEST:
        raise InputError(
            f"{field} must be at most {LONGEST} bytes long in UTF-8, this one has {size}. "
            "Letters beyond ASCII count two to four.",
            field=field,
        )


class Passwords:
    """Makes and compares hashes without keeping the event loop waiting."""

    def __init__(self, cost: int) -> None:
        self._cost = cost
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="bcrypt")
        self._turns = Turns(_THREADS, most_waiting=_MOST_WAITING)
        self._nobodys: bytes | None = None

    async def hash(self, password: str, *, asked_from: str) -> str:
        """Return what can be kept instead of a password that was checked.

        Raises:
            BusyError: if too many wait for that.
        """
        async with self._turns.one(asked_from):
            return (await self._on_thread(self._hash, _bytes(password))).decode()

    async def matches(self, password: str, kept: str | None, *, asked_from: str) -> bool:
        """Compare a password with what was kept; it takes as long if nothing was.

        Raises:
            BusyError: if too many wait for that.
        """
        async with self._turns.one(asked_from):
            return await self._on_thread(self._compare, _bytes(password), kept)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _on_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        call = partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _hash(self, password: bytes) -> bytes:
        return bcrypt.hashpw(password, bcrypt.gensalt(self._cost))

    def _compare(self, password: bytes, kept: str | None) -> bool:
        if self._nobodys is None:
            self._nobodys = self._hash(b"nobody's password")
        against = self._nobodys if kept is None else kept.encode()
        same = bcrypt.checkpw(password[:LONGEST], against)
        return same and kept is not None and len(password) <= LONGEST


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "replace")
