"""Format users' Python code without executing it."""

from app.core.errors import InputError
from app.core.ruff import run_ruff


class NotFormattedError(InputError):
    """Code can't be formatted."""

    code = "not_formatted"


async def format_python(code: str) -> str:
    """Return the code as ruff formats it.

    Raises:
        NotFormattedError: if it isn't valid Python, or formatting takes too long.
    """
    try:
        formatted = await run_ruff("format", code=code)
    except UnicodeEncodeError:
        raise NotFormattedError("Not formatted: the code has an unpaired surrogate.") from None
    except TimeoutError:
        raise NotFormattedError("Not formatted: it took too long.") from None
    if formatted is None:
        raise NotFormattedError("Not formatted: fix the errors first.")
    return formatted
