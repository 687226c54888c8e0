"""Read and write browser sessions; they are looked up by the digest of their cookie."""

from datetime import UTC, datetime
from uuid import uuid4

from storage.database.tables import SessionRow, record_of
from storage.records import SessionRecord


def add_session(
    user_id: str, digest: str, *, expires_at: datetime, address: str, browser: str
) -> SessionRecord:
    """Add a session of a user who signed in."""
    now = datetime.now(UTC)
    row = SessionRow.create(
        id=uuid4().hex,
        digest=digest,
        user=user_id,
        created_at=now,
        last_seen_at=now,
        expires_at=expires_at,
        address=address[:100],
        browser=browser[:200],
    )
    return record_of(SessionRecord, row)


def find_session(digest: str) -> SessionRecord | None:
    """Return the session with this digest, if any; it may have expired."""
    row = SessionRow.get_or_none(SessionRow.digest == digest)
    return None if row is None else record_of(SessionRecord, row)


def list_sessions(user_id: str) -> tuple[SessionRecord, ...]:
    """Return the active sessions of a user, newest first."""
    now = datetime.now(UTC)
    rows = SessionRow.select().where(SessionRow.user == user_id, SessionRow.expires_at > now)
    return tuple(
        record_of(SessionRecord, row) for row in rows.order_by(SessionRow.created_at.desc())
    )


def touch_session(session_id: str) -> None:
    """Set the session's last activity to now."""
    now = datetime.now(UTC)
    SessionRow.update(last_seen_at=now).where(SessionRow.id == session_id).execute()


def end_session(session_id: str) -> None:
    """Delete a session."""
    # peewee's stubs mistype `delete`.
    SessionRow.delete().where(SessionRow.id == session_id).execute()  # type: ignore[misc]


def end_sessions_of(user_id: str, *, but: str | None = None) -> None:
    """Delete the sessions of a user, all or all but one."""
    ended = SessionRow.user == user_id
    if but is not None:
        ended &= SessionRow.id != but
    SessionRow.delete().where(ended).execute()  # type: ignore[misc]


def forget_expired(now: datetime) -> None:
    """Delete expired sessions."""
    SessionRow.delete().where(SessionRow.expires_at <= now).execute()  # type: ignore[misc]
