"""Read and write API tokens; a token is found by its digest, and never kept itself."""

from datetime import UTC, datetime
from uuid import uuid4

from storage.account_records import TokenRecord, TokenScope
from storage.account_tables import TokenRow


def add_token(person_id: str, digest: str, *, name: str, scope: TokenScope) -> TokenRecord:
    """Remember a token."""
    now = datetime.now(UTC)
    row = TokenRow.create(
        id=uuid4().hex, digest=digest, person=person_id, name=name, scope=scope, created_at=now
    )
    return _record(row)


def find_token(digest: str) -> TokenRecord | None:
    """Return the token with this digest, if there is one."""
    row = TokenRow.get_or_none(TokenRow.digest == digest)
    return None if row is None else _record(row)


def list_tokens(person_id: str) -> tuple[TokenRecord, ...]:
    """Return somebody's tokens, newest first."""
    rows = TokenRow.select().where(TokenRow.person == person_id)
    return tuple(_record(row) for row in rows.order_by(TokenRow.created_at.desc(), TokenRow.id))


def touch_token(token_id: str) -> None:
    """Note that a token was used just now."""
    TokenRow.update(last_used_at=datetime.now(UTC)).where(TokenRow.id == token_id).execute()


def revoke_token(person_id: str, token_id: str) -> TokenRecord | None:
    """Forget one of somebody's tokens and return it, if they had it."""
    row = TokenRow.get_or_none(TokenRow.id == token_id, TokenRow.person == person_id)
    if row is None:
        return None
    row.delete_instance()
    return _record(row)


def _record(row: TokenRow) -> TokenRecord:
    return TokenRecord(
        id=row.id,
        person_id=row.person_id,  # type: ignore[attr-defined]  # peewee adds it for the foreign key
        name=row.name,
        scope=TokenScope(row.scope),
        created_at=row.created_at,
        last_used_at=row.last_used_at,
    )
