"""Code in files that flags name."""

from pathlib import Path

from app.accounts import NO_ACCOUNTS
from app.core import InputError
from app.lab import Lab


def read_code(flag: str, name: str) -> str:
    """Return the content of a file.

    Raises:
        InputError: if it can't be read, or isn't text.
    """
    try:
        return Path(name).read_text()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"{flag} {name[:200]} can't be read: {reason}.") from None


async def check_may_give_code(lab: Lab, field: str) -> None:
    """Check that the sandbox of workers is strict enough to run users' code.

    Raises:
        InputError: if it is not, with the reason.
    """
    if (reason := await lab.code.refusal(NO_ACCOUNTS)) is not None:
        raise InputError(reason, field=field)
