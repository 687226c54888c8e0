"""Requests to account services, from forms and the API alike."""

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr
from pydantic_core import PydanticCustomError

from storage.records import Registration, Role, TokenScope

_EMAIL = re.compile(r"[^@\s\x00-\x1f]+@[^@\s\x00-\x1f]+")
_MAX_RUNS = 1_000
_MAX_DISK_MB = 100_000_000


def plain_email(text: str) -> str:
    """Normalize an e-mail address for storage and comparison."""
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
UserName = Annotated[StrictStr, Field(max_length=100), AfterValidator(_checked_name)]
Secret = Annotated[StrictStr, Field(max_length=1_000)]


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class NewAccount(_Request):
    """A request to create an account."""

    email: Email
    password: Secret
    name: UserName | None = None
    setup_code: Secret | None = None
    """Needed for the first account of a server on a network; its console shows the code."""
    invitation: Secret | None = None
    """Code, needed where only invited users may register."""


class Credentials(_Request):
    """E-mail address and password of a sign-in."""

    email: Annotated[StrictStr, Field(max_length=254)]
    password: Secret


class NewPassword(_Request):
    """A new password, set with the code of a password reset."""

    code: Secret
    password: Secret


class ProfileChanges(_Request):
    """Changes of a user to their own profile."""

    name: UserName | None = None
    password: Secret | None = None
    current_password: Secret | None = None
    hf_token: Annotated[StrictStr, Field(max_length=500)] | None = None
    """Hugging Face token; null removes it."""


class NewToken(_Request):
    """A request to create an API token."""

    name: UserName
    scope: TokenScope = TokenScope.READ


class UserChanges(_Request):
    """Changes of an administrator to a user; null limits: the default ones apply."""

    role: Role | None = None
    blocked: StrictBool | None = None
    runs_at_once: Annotated[StrictInt, Field(ge=0, le=_MAX_RUNS)] | None = None
    disk_mb: Annotated[StrictInt, Field(ge=0, le=_MAX_DISK_MB)] | None = None


class LabChanges(_Request):
    """Changes of an administrator to the lab; null limits: unlimited."""

    registration: Registration | None = None
    runs_at_once: Annotated[StrictInt, Field(ge=0, le=_MAX_RUNS)] | None = None
    disk_mb: Annotated[StrictInt, Field(ge=0, le=_MAX_DISK_MB)] | None = None


class NewInvitation(_Request):
    """An invitation to register, made by an administrator."""

    role: Role = Role.MEMBER
    email: Email | None = None
    """The only address it is valid for; null: any."""
