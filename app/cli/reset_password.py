"""Create a code to reset a password: `python main.py reset-password`, on the server itself."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from app.accounts import plain_email
from app.accounts.auth import digest
from app.accounts.users import RESET_LASTS, new_reset_code
from app.cli.console import say
from app.cli.parsing import make_parser, settings_from
from app.core import InputError, SentenceParser
from storage.database import Address, open_database
from storage.database.accounts import audit, password_resets, users
from storage.records import UserRecord

CONSOLE = "console"
"""The author in the audit log: the console of the server."""


def run(arguments: Sequence[str]) -> int:
    """Create a code, print it, and return the exit code."""
    options = _parser().parse_args(arguments)
    email = plain_email(options.email)
    address = settings_from(options).database_address
    code = _make_code(address, email)
    say(f"Code: {code}")
    hours = RESET_LASTS.total_seconds() / 3600
    say(f"Open /reset on the server and enter it within {hours:.0f} hours.")
    say(f"It sets a new password for {email}, once, and signs them out everywhere.")
    return 0


def _parser() -> SentenceParser:
    parser = make_parser(
        "reset-password",
        "Create a code with which a user sets a new password. Works while a server uses the "
        "folder, too. Requires write access to the lab's database.",
        "ada@example.org",
    )
    parser.add_argument("email", metavar="EMAIL", help="the address of the account")
    return parser


def _make_code(address: Address, email: str) -> str:
    if isinstance(address, Path) and not address.is_file():
        raise _unknown_user(email)
    database = open_database(address)
    try:
        user = _find(email)
        code = new_reset_code()
        password_resets.add_reset(
            user.id,
            digest(code),
            created_by=CONSOLE,
            expires_at=datetime.now(UTC) + RESET_LASTS,
        )
        audit.add_entry("reset_made", who=CONSOLE, subject=email)
    finally:
        database.close()
    return code


def _find(email: str) -> UserRecord:
    user = users.find_user(email)
    if user is None:
        raise _unknown_user(email)
    if user.is_blocked:
        raise InputError(f"{email} is blocked. An administrator can unblock them at /admin.")
    return user


def _unknown_user(email: str) -> InputError:
    return InputError(
        f"There is no user with the address {email[:254]!r}. Is it the right --runs-dir?"
    )
