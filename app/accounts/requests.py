"""What people and programs ask of accounts, in forms and over the API alike."""

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr
from pydantic_core import PydanticCustomError

from storage.records.accounts import Registration, Role, TokenScope

_EMAIL = re.compile(r"[^@\s\x00-\x1f]+@[^@\s\x00-\x1f]+")
_MOST_RUNS = 1_000
_MOST_DISK_MB = 100_000_000


def plain_email(text: str) -> str:
    """Return an address as it is kept and compared."""
    return unicodedata.normalize("NFC", text.strip()).lower()


def _checked_email(text: str) -> str:
    email = plain_email(text)
    if not _EMAIL.fullmatch(email) or not email.isprintable():
        raise PydanticCustomError("email", "not an e-mail address")
    return email


def _checked_name(text: str) -> str:
    name = " ".join(text.split())
    if not name or not name.isprintable():
        raise PydanticCustomError("name", "not a name")
    return name


Email = Annotated[StrictStr, Field(max_length=254), AfterValidator(_checked_email)]
PersonName = Annotated[StrictStr, Field(max_length=100), AfterValidator(_checked_name)]
Secret = Annotated[StrictStr, Field(max_length=1_000)]


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class NewAccount(_Request):
    """Somebody wants an account."""

    email: Email
    password: Secret
    name: PersonName | None = None
    setup_code: Secret | None = None
    """Needed for the very first account of a server on a network; its console shows it."""
    invitation: Secret | None = None
    """Needed where only invited people may register."""


class Credentials(_Request):
    """Somebody signs in."""

    email: Annotated[StrictStr, Field(max_length=254)]
    password: Secret


class NewPassword(_Request):
    """Somebody forgot their password and was given a code."""

    code: Secret
    password: Secret


class ProfileChanges(_Request):
    """What people change about themselves."""

    name: PersonName | None = None
    password: Secret | None = None
    current_password: Secret | None = None
    hf_token: Annotated[StrictStr, Field(max_length=500)] | None = None
    """Null takes it away."""


class NewToken(_Request):
    """Somebody wants a token for a program."""

    name: PersonName
    scope: TokenScope = TokenScope.READ


class PersonChanges(_Request):
    """What administrators change about others; null limits: as much as anybody."""

    role: Role | None = None
    blocked: StrictBool | None = None
    runs_at_once: Annotated[StrictInt, Field(ge=0, le=_MOST_RUNS)] | None = None
    disk_mb: Annotated[StrictInt, Field(ge=0, le=_MOST_DISK_MB)] | None = None


class LabChanges(_Request):
    """What administrators set for the whole lab; null limits: none."""

    registration: Registration | None = None
    runs_at_once: Annotated[StrictInt, Field(ge=0, le=_MOST_RUNS)] | None = None
    disk_mb: Annotated[StrictInt, Field(ge=0, le=_MOST_DISK_MB)] | None = None


class NewInvitation(_Request):
    """An administrator invites somebody."""

    role: Role = Role.MEMBER
    email: Email | None = None
    """Whom it is for; null: whoever has the code."""
