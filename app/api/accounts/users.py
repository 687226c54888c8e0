"""API schemas of users, sessions, tokens, invitations and audit entries."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from app.accounts import Principal
from app.accounts.users import Accounts, avatar_url
from app.api.shared import Shape
from storage.records import Role, TokenScope, UserRecord


class LimitsShape(Shape):
    """Limits of one user; null: no limit."""

    runs_at_once: int | None
    disk_mb: int | None


class Me(BaseModel):
    """The signed-in user."""

    id: str
    email: str
    name: str
    role: Role
    created_at: datetime
    last_login_at: datetime | None
    has_password: bool
    has_hf_token: bool
    avatar_url: str | None
    limits: LimitsShape
    providers: list[str]
    """Sign-in providers that are linked to the account."""

    @classmethod
    async def of(cls, principal: Principal, accounts: Accounts) -> "Me":
        """Describe the user of a principal."""
        user = principal.me
        return cls(
            id=user.id,
            email=user.email,
            name=user.name,
            role=user.role,
            created_at=user.created_at,
            last_login_at=user.last_login_at,
            has_password=user.password_hash is not None,
            has_hf_token=user.hf_token is not None,
            avatar_url=avatar_url(user),
            limits=LimitsShape.of(accounts.directory.limits_of(user.id)),
            providers=[one.provider for one in await accounts.profiles.identities(principal)],
        )

    @classmethod
    async def of_session(cls, token: str, accounts: Accounts) -> "Me":
        """Describe the user of a new session."""
        credential = await accounts.passes.of_session(token)
        assert credential is not None
        return await cls.of(Principal(credential), accounts)


class User(BaseModel):
    """A user, as administrators see them."""

    id: str
    email: str
    name: str
    role: Role
    blocked: bool
    created_at: datetime
    last_login_at: datetime | None
    runs_at_once: int | None
    disk_mb: int | None
    """Limits of their own; null: the default ones apply."""
    disk_used: int
    """In bytes."""

    @classmethod
    def of(cls, user: UserRecord, disk_used: int) -> "User":
        """Describe a user."""
        return cls(
            id=user.id,
            email=user.email,
            name=user.name,
            role=user.role,
            blocked=user.is_blocked,
            created_at=user.created_at,
            last_login_at=user.last_login_at,
            runs_at_once=user.runs_at_once,
            disk_mb=user.disk_mb,
            disk_used=disk_used,
        )


class Token(Shape):
    """An API token, without its secret."""

    id: str
    name: str
    scope: TokenScope
    created_at: datetime
    last_used_at: datetime | None


class FreshToken(Token):
    """A new API token, in the only answer that shows its secret."""

    token: str


class Session(Shape):
    """A browser in which a user is signed in."""

    id: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    address: str
    browser: str
    current: bool
    """Whether it is the session of this request."""


class Invitation(Shape):
    """An invitation for one user to register."""

    id: str
    role: Role
    email: str | None
    created_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    used_by: str | None


class FreshInvitation(Invitation):
    """A new invitation, in the only answer that shows its code."""

    code: str
    url: str
    """The page for using it."""


class FreshReset(BaseModel):
    """A new password reset, in the only answer that shows its code."""

    email: str
    expires_at: datetime
    code: str
    url: str
    """The page for using it."""


class AuditEntry(Shape):
    """An entry of the audit log: who did what, and from where."""

    id: int
    timestamp: datetime
    person_id: str | None = Field(validation_alias="user_id")
    who: str
    action: str
    subject: str
    address: str
    data: dict[str, Any]
