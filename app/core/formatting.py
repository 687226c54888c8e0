"""Lay out Python code that somebody wrote, without running it."""

import asyncio
from asyncio.subprocess import PIPE
from functools import cache

from ruff import find_ruff_bin

from app.core.errors import InputError

_LONGEST_S = 5.0
_AT_ONCE = 2
_OPTIONS = ("format", "--isolated", "--no-cache", "--quiet", "--stdin-filename", "code.py", "-")


class NotFormattedError(InputError):
    """Code can't be laid out."""

    code = "not_formatted"


async def format_python(code: str) -> str:
    """Return the code in the usual layout.

    A program of its own reads it, without a configuration, an environment or a file: whatever the
    text makes of it, the lab goes on.

    Raises:
        NotFormattedError: if it isn't Python, or takes too long.
    """
    try:
        given = code.encode()
    except UnicodeEncodeError:
        raise NotFormattedError("Not formatted: the code has half a character in it.") from None
    async with _turns():
        process = await asyncio.create_subprocess_exec(
            find_ruff_bin(), *_OPTIONS, stdin=PIPE, stdout=PIPE, stderr=PIPE, env={}, cwd="/"
        )
        try:
            async with asyncio.timeout(_LONGEST_S):
                formatted, _ = await process.communicate(given)
        except TimeoutError:
            raise NotFormattedError("Not formatted: it took too long.") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    if process.returncode:
        raise NotFormattedError("Not formatted: mend what is wrong first.")
    return formatted.decode()


@cache
def _turns() -> asyncio.Semaphore:
    """Let few of them run at once, however many people press the button."""
    return asyncio.Semaphore(_AT_ONCE)
