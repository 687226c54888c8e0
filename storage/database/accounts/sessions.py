"""Read and write the sessions of browsers; a session is found by the digest of what it shows."""

from datetime import UTC, datetime
from uuid import uuid4

from storage.database.tables.accounts import SessionRow
from storage.database.tables.runs import record_of
from storage.records.accounts import SessionRecord


def add_session(
    person_id: str, digest: str, *, expires_at: datetime, address: str, browser: str
) -> SessionRecord:
    """Remember that somebody signed in."""
    now = datetime.now(UTC)
    row = SessionRow.create(
        id=uuid4().hex,
        digest=digest,
        person=person_id,
        created_at=now,
        last_seen_at=now,
        expires_at=expires_at,
        address=address[:100],
        browser=browser[:200],
    )
    return record_of(SessionRecord, row)


def find_session(digest: str) -> SessionRecord | None:
    """Return the session with this digest, if there is one; it may have expired."""
    row = SessionRow.get_or_none(SessionRow.digest == digest)
    return None if row is None else record_of(SessionRecord, row)


def list_sessions(person_id: str) -> tuple[SessionRecord, ...]:
    """Return somebody's sessions that haven't expired, newest first."""
    now = datetime.now(UTC)
    rows = SessionRow.select().where(SessionRow.person == person_id, SessionRow.expires_at > now)
    return tuple(
        record_of(SessionRecord, row) for row in rows.order_by(SessionRow.created_at.desc())
    )


def touch_session(session_id: str) -> None:
    """Note that somebody was here just now."""
    now = datetime.now(UTC)
    SessionRow.update(last_seen_at=now).where(SessionRow.id == session_id).execute()


def end_session(session_id: str) -> None:
    """Forget a session."""
    # The stubs of peewee trip over `delete`.
    SessionRow.delete().where(SessionRow.id == session_id).execute()  # type: ignore[misc]


def end_sessions_of(person_id: str, *, but: str | None = None) -> None:
    """Forget somebody's sessions, all or all but one."""
    ended = SessionRow.person == person_id
    if but is not None:
        ended &= SessionRow.id != but
    SessionRow.delete().where(ended).execute()  # type: ignore[misc]


def forget_expired(now: datetime) -> None:
    """Forget what nobody can use any more."""
    SessionRow.delete().where(SessionRow.expires_at <= now).execute()  # type: ignore[misc]
