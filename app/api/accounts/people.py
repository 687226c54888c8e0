"""The shapes of people and what belongs to them, as the API answers them."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from app.accounts.directory import Limits
from app.accounts.users.accounts import Accounts
from app.accounts.users.avatars import avatar_url
from app.accounts.visitors import Visitor
from storage.records.accounts import (
    AuditRecord,
    InvitationRecord,
    PersonRecord,
    Role,
    SessionRecord,
    TokenRecord,
    TokenScope,
)


class LimitsShape(BaseModel):
    """What one person may use; null: no limit."""

    runs_at_once: int | None
    disk_mb: int | None

    @classmethod
    def of(cls, limits: Limits) -> "LimitsShape":
        """Describe limits."""
        return cls(runs_at_once=limits.runs_at_once, disk_mb=limits.disk_mb)


class Me(BaseModel):
    """Whoever asks."""

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
    """Where else they sign in."""

    @classmethod
    async def of(cls, visitor: Visitor, accounts: Accounts) -> "Me":
        """Describe the one who asks."""
        person = visitor.me
        return cls(
            id=person.id,
            email=person.email,
            name=person.name,
            role=person.role,
            created_at=person.created_at,
            last_login_at=person.last_login_at,
            has_password=person.password_hash is not None,
            has_hf_token=person.hf_token is not None,
            avatar_url=avatar_url(person),
            limits=LimitsShape.of(accounts.directory.limits_of(person.id)),
            providers=[one.provider for one in await accounts.profiles.identities(visitor)],
        )

    @classmethod
    async def behind(cls, token: str, accounts: Accounts) -> "Me":
        """Describe who has just signed in."""
        shown = await accounts.passes.of_session(token)
        assert shown is not None
        return await cls.of(Visitor(shown), accounts)


class Person(BaseModel):
    """Somebody, as administrators see them."""

    id: str
    email: str
    name: str
    role: Role
    blocked: bool
    created_at: datetime
    last_login_at: datetime | None
    runs_at_once: int | None
    disk_mb: int | None
    """Limits of their own; null: as much as anybody."""
    disk_used: int
    """In bytes."""

    @classmethod
    def of(cls, person: PersonRecord, disk_used: int) -> "Person":
        """Describe somebody."""
        return cls(
            id=person.id,
            email=person.email,
            name=person.name,
            role=person.role,
            blocked=person.is_blocked,
            created_at=person.created_at,
            last_login_at=person.last_login_at,
            runs_at_once=person.runs_at_once,
            disk_mb=person.disk_mb,
            disk_used=disk_used,
        )


class Token(BaseModel):
    """A token of a program."""

    id: str
    name: str
    scope: TokenScope
    created_at: datetime
    last_used_at: datetime | None

    @classmethod
    def of(cls, token: TokenRecord) -> "Token":
        """Describe a token."""
        return cls.model_validate(token, from_attributes=True)


class FreshToken(Token):
    """A token in the one answer that shows it."""

    token: str


class Session(BaseModel):
    """A browser in which somebody is signed in."""

    id: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    address: str
    browser: str
    current: bool
    """Whether it is the one that asks."""

    @classmethod
    def of(cls, session: SessionRecord, visitor: Visitor) -> "Session":
        """Describe a session."""
        return cls(
            id=session.id,
            created_at=session.created_at,
            last_seen_at=session.last_seen_at,
            expires_at=session.expires_at,
            address=session.address,
            browser=session.browser,
            current=session.id == visitor.shown.session_id,
        )


class Invitation(BaseModel):
    """Permission for one person to make an account."""

    id: str
    role: Role
    email: str | None
    created_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    used_by: str | None

    @classmethod
    def of(cls, invitation: InvitationRecord) -> "Invitation":
        """Describe an invitation."""
        return cls.model_validate(invitation, from_attributes=True)


class FreshInvitation(Invitation):
    """An invitation in the one answer that shows its code."""

    code: str
    url: str
    """The page on which it is used."""


class FreshReset(BaseModel):
    """Permission to set a new password, in the one answer that shows its code."""

    email: str
    expires_at: datetime
    code: str
    url: str
    """The page on which it is used."""


class AuditEntry(BaseModel):
    """Something that somebody did, and from where."""

    id: int
    timestamp: datetime
    person_id: str | None
    who: str
    action: str
    subject: str
    address: str
    data: dict[str, Any]

    @classmethod
    def of(cls, entry: AuditRecord) -> "AuditEntry":
        """Describe an entry."""
        return cls.model_validate(entry, from_attributes=True)
