"""The vocabulary of accounts: who people are, how they show it, and what they did."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from storage.records.runs import JsonObject


class Role(StrEnum):
    """What a person may do: look, work, or look after the lab."""

    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class TokenScope(StrEnum):
    """What a program may do with a person's token."""

    READ = "read"
    WRITE = "write"


class Registration(StrEnum):
    """Who may make an account."""

    OPEN = "open"
    INVITE = "invite"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRecord:
    """Somebody with an account."""

    id: str
    email: str
    name: str
    role: Role
    created_at: datetime
    password_hash: str | None = field(default=None, repr=False)
    """None: they sign in elsewhere only."""
    blocked_at: datetime | None = None
    last_login_at: datetime | None = None
    hf_token: str | None = field(default=None, repr=False)
    """Their Hugging Face token, encrypted."""
    avatar_at: datetime | None = None
    """When their picture was made, if they have one."""
    runs_at_once: int | None = None
    """How many of their runs may train at once; None: as many as anybody's."""
    disk_mb: int | None = None
    """How much their runs may hold; None: as much as anybody's."""

    @property
    def is_blocked(self) -> bool:
        """Whether they are kept out."""
        return self.blocked_at is not None

    @property
    def is_admin(self) -> bool:
        """Whether they look after the lab."""
        return self.role is Role.ADMIN


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A browser in which somebody is signed in; what it shows is kept as a digest only."""

    id: str
    person_id: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    address: str
    browser: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """A program that may act for somebody; what it shows is kept as a digest only."""

    id: str
    person_id: str
    name: str
    scope: TokenScope
    created_at: datetime
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRecord:
    """Permission for one person to make an account."""

    id: str
    role: Role
    email: str | None
    """Whom it is for; None: whoever has the code."""
    created_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    used_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetRecord:
    """Permission for somebody who forgot their password to set a new one."""

    person_id: str
    created_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRecord:
    """An account elsewhere that stands for somebody here."""

    issuer: str
    subject: str
    person_id: str
    provider: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """Something that somebody did, and from where."""

    id: int
    timestamp: datetime
    person_id: str | None
    who: str
    """Their address as it was then."""
    action: str
    subject: str
    address: str
    data: JsonObject
