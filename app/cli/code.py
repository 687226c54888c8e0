"""Code that a flag of a command names."""

from pathlib import Path

from app.accounts.visitors import NO_ACCOUNTS
from app.core.errors import InputError
from app.lab import Lab


def read_code(flag: str, name: str) -> str:
    """Return what is in a file.

    Raises:
        InputError: if it can't be read, or isn't text.
    """
    try:
        return Path(name).read_text()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(f"{flag} {name[:200]} can't be read: {reason}.") from None


async def check_may_give_code(lab: Lab, field: str) -> None:
    """Make sure that workers are locked in well enough here to run it.

    Raises:
        InputError: if they aren't, with the reason.
    """
    if (reason := await lab.code.refusal(NO_ACCOUNTS)) is not None:
        raise InputError(reason, field=field)
