"""Run ruff on users' code: it parses the text and never executes it."""

import asyncio
from asyncio.subprocess import PIPE
from functools import cache

from ruff import find_ruff_bin

_TIME_LIMIT_S = 5.0
_MAX_PROCESSES = 2
_OPTIONS = ("--isolated", "--no-cache", "--quiet", "--stdin-filename", "code.py", "-")


async def run_ruff(*command: str, code: str) -> str | None:
    """Return ruff's output for the code, or None if ruff can't parse it.

    Ruff runs as a separate process without configuration, environment variables or files, so
    malicious code can't affect the server.

    Raises:
        TimeoutError: if it takes too long.
        UnicodeEncodeError: if the code has half of a surrogate pair.
    """
    text = code.encode()
    async with _slots():
        process = await asyncio.create_subprocess_exec(
            find_ruff_bin(), *command, *_OPTIONS, stdin=PIPE, stdout=PIPE, stderr=PIPE, env={},
            cwd="/",
        )  # fmt: skip
        try:
            async with asyncio.timeout(_TIME_LIMIT_S):
                printed, _ = await process.communicate(text)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    return None if process.returncode else printed.decode()


@cache
def _slots() -> asyncio.Semaphore:
    """Return the semaphore that limits concurrent ruff processes for all users."""
    return asyncio.Semaphore(_MAX_PROCESSES)
