"""Let somebody set a new password: `python main.py reset-password`, on the machine itself."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from app.accounts.auth.secrets import digest
from app.accounts.requests import plain_email
from app.accounts.users.password_resets import LASTS, new_reset_code
from app.cli.console import say
from app.cli.parsing import make_parser, settings_from
from app.core.errors import InputError
from app.core.settings import SentenceParser
from storage.database.accounts import audit, people, resets
from storage.database.database import Address, open_database
from storage.records.accounts import PersonRecord

CONSOLE = "console"
"""Who did it: somebody at this machine."""


def run(arguments: Sequence[str]) -> int:
    """Make a code, show it, and return the exit code."""
    given = _parser().parse_args(arguments)
    email = plain_email(given.email)
    address = settings_from(given).database_address
    code = _make_code(address, email)
    say(f"Code: {code}")
    say(f"Open /reset on the server and type it within {LASTS.total_seconds() / 3600:.0f} hours.")
    say(f"It sets a new password for {email}, once, and signs them out everywhere.")
    return 0


def _parser() -> SentenceParser:
    parser = make_parser(
        "reset-password",
        "Make a code with which somebody sets a new password. Works while a server uses the "
        "folder, too. Only who may write the lab's database can do this.",
        "ada@example.org",
    )
    parser.add_argument("email", metavar="EMAIL", help="the address of the account")
    return parser


def _make_code(address: Address, email: str) -> str:
    if isinstance(address, Path) and not address.is_file():
        raise _nobody(email)
    database = open_database(address)
    try:
        person = _find(email)
        code = new_reset_code()
        resets.add_reset(
            person.id,
            digest(code),
            created_by=CONSOLE,
            expires_at=datetime.now(UTC) + LASTS,
        )
        audit.add_entry("reset_made", who=CONSOLE, subject=email)
    finally:
        database.close()
    return code


def _find(email: str) -> PersonRecord:
    person = people.find_person(email)
    if person is None:
        raise _nobody(email)
    if person.is_blocked:
        raise InputError(f"{email} is blocked. An administrator can unblock them at /admin.")
    return person


def _nobody(email: str) -> InputError:
    return InputError(f"Nobody here has the address {email[:254]!r}. Is it the right --runs-dir?")
