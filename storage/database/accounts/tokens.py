"""Read and write API tokens; a token is found by its digest, and never kept itself."""

from datetime import UTC, datetime
from uuid import uuid4

from storage.database.tables.accounts import TokenRow
from storage.database.tables.runs import record_of
from storage.records.accounts import TokenRecord, TokenScope


def add_token(person_id: str, digest: str, *, name: str, scope: TokenScope) -> TokenRecord:
    """Remember a token."""
    now = datetime.now(UTC)
    row = TokenRow.create(
        id=uuid4().hex, digest=digest, person=person_id, name=name, scope=scope, created_at=now
    )
    return record_of(TokenRecord, row)


def find_token(digest: str) -> TokenRecord | None:
    """Return the token with this digest, if there is one."""
    row = TokenRow.get_or_none(TokenRow.digest == digest)
    return None if row is None else record_of(TokenRecord, row)


def list_tokens(person_id: str) -> tuple[TokenRecord, ...]:
    """Return somebody's tokens, newest first."""
    rows = TokenRow.select().where(TokenRow.person == person_id)
    return tuple(
        record_of(TokenRecord, row)
        for row in rows.order_by(TokenRow.created_at.desc(), TokenRow.id)
    )


def touch_token(token_id: str) -> None:
    """Note that a token was used just now."""
    TokenRow.update(last_used_at=datetime.now(UTC)).where(TokenRow.id == token_id).execute()


def revoke_token(person_id: str, token_id: str) -> TokenRecord | None:
    """Forget one of somebody's tokens and return it, if they had it."""
    row = TokenRow.get_or_none(TokenRow.id == token_id, TokenRow.person == person_id)
    if row is None:
        return None
    row.delete_instance()
    return record_of(TokenRecord, row)
