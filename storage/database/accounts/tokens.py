"""Read and write API tokens; they are looked up by their digest and never stored themselves."""

from datetime import UTC, datetime
from uuid import uuid4

from storage.database.tables import TokenRow, record_of
from storage.records import TokenRecord, TokenScope


def add_token(user_id: str, digest: str, *, name: str, scope: TokenScope) -> TokenRecord:
    """Add a token."""
    now = datetime.now(UTC)
    row = TokenRow.create(
        id=uuid4().hex, digest=digest, user=user_id, name=name, scope=scope, created_at=now
    )
    return record_of(TokenRecord, row)


def find_token(digest: str) -> TokenRecord | None:
    """Return the token with this digest, if any."""
    row = TokenRow.get_or_none(TokenRow.digest == digest)
    return None if row is None else record_of(TokenRecord, row)


def list_tokens(user_id: str) -> tuple[TokenRecord, ...]:
    """Return the tokens of a user, newest first."""
    rows = TokenRow.select().where(TokenRow.user == user_id)
    return tuple(
        record_of(TokenRecord, row)
        for row in rows.order_by(TokenRow.created_at.desc(), TokenRow.id)
    )


def touch_token(token_id: str) -> None:
    """Set the token's last use to now."""
    TokenRow.update(last_used_at=datetime.now(UTC)).where(TokenRow.id == token_id).execute()


def revoke_token(user_id: str, token_id: str) -> TokenRecord | None:
    """Delete a token of a user; return it, or None if they have no such token."""
    row = TokenRow.get_or_none(TokenRow.id == token_id, TokenRow.user == user_id)
    if row is None:
        return None
    row.delete_instance()
    return record_of(TokenRecord, row)
