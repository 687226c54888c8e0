"""Records of accounts: users, their credentials, and the audit log."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from storage.records.runs import JsonObject


class Role(StrEnum):
    """The role of a user: viewers only read, members train, administrators manage the lab."""

    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class TokenScope(StrEnum):
    """What an API token permits."""

    READ = "read"
    WRITE = "write"


class Registration(StrEnum):
    """Who may create an account."""

    OPEN = "open"
    INVITE = "invite"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord:
    """A user account."""

    id: str
    email: str
    name: str
    role: Role
    created_at: datetime
    password_hash: str | None = field(default=None, repr=False)
    """None: they sign in with an external account only."""
    blocked_at: datetime | None = None
    last_login_at: datetime | None = None
    hf_token: str | None = field(default=None, repr=False)
    """Their Hugging Face token, encrypted."""
    avatar_at: datetime | None = None
    """When their profile picture was uploaded, if they have one."""
    runs_at_once: int | None = None
    """Maximum number of runs that may train at once; None means the lab's default."""
    disk_mb: int | None = None
    """Disk quota of their runs in MB; None means the lab's default."""

    @property
    def is_blocked(self) -> bool:
        """Whether the user is blocked."""
        return self.blocked_at is not None

    @property
    def is_admin(self) -> bool:
        """Whether the user is an administrator."""
        return self.role is Role.ADMIN


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A signed-in browser; only a digest of its cookie is stored."""

    id: str
    user_id: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    address: str
    browser: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """An API token of a user; only its digest is stored."""

    id: str
    user_id: str
    name: str
    scope: TokenScope
    created_at: datetime
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRecord:
    """Permission for one user to create an account."""

    id: str
    role: Role
    email: str | None
    """The address it is for; None: anyone who has the code."""
    created_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    used_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetRecord:
    """Permission for a user to set a new password."""

    user_id: str
    created_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRecord:
    """An external account with which a user signs in."""

    issuer: str
    subject: str
    user_id: str
    provider: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """An entry of the audit log."""

    id: int
    timestamp: datetime
    user_id: str | None
    who: str
    """Their email address at that time."""
    action: str
    subject: str
    address: str
    data: JsonObject
