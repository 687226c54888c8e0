"""Profiles: a user's own name, password, API tokens, sessions and avatar."""

from datetime import UTC, datetime
from typing import Any

from app.accounts import (
    ForbiddenError,
    NewToken,
    OverLimitError,
    Principal,
    ProfileChanges,
    UnknownThingError,
    WrongCredentialsError,
    network_of,
)
from app.accounts.auth import (
    AccountServices,
    Caller,
    SigningIn,
    Vault,
    check_password,
    digest,
    new_api_token,
)
from app.core import InputError
from storage.database.accounts import sessions, tokens, users
from storage.records import IdentityRecord, SessionRecord, TokenRecord, TokenScope, UserRecord

_MAX_TOKENS = 50


class Profiles:
    """Lets users see and change their own account."""

    def __init__(self, services: AccountServices, signing_in: SigningIn, vault: Vault) -> None:
        self._storage = services.storage
        self._directory = services.directory
        self._passes = services.passes
        self._passwords = services.passwords
        self._audit = services.audit
        self._signing_in = signing_in
        self._vault = vault

    async def change(self, principal: Principal, changes: ProfileChanges) -> UserRecord:
        """Change the user's name, password or Hugging Face token.

        Raises:
            AccessError: if the principal uses a token for what needs a session.
            InputError: if the current password is wrong, or a value is invalid.
        """
        _check_may_write(principal)
        values: dict[str, Any] = {}
        if changes.name is not None:
            values["name"] = changes.name
        if "hf_token" in changes.model_fields_set:
            values["hf_token"] = self._locked(changes.hf_token)
        if changes.password is not None:
            _check_session(principal)
            values["password_hash"] = await self._new_password(principal, changes)
        changed = await self._save(principal, **values)
        if "password_hash" in values:
            await self._end_other_sessions(principal)
        for name in values:
            await self._audit.note(principal, f"{name.removesuffix('_hash')}_changed")
        return changed

    def hf_token_of(self, principal: Principal) -> str | None:
        """Return the user's Hugging Face token, if any."""
        locked = principal.me.hf_token
        return None if locked is None else self._vault.unlock(locked)

    async def identities(self, principal: Principal) -> tuple[IdentityRecord, ...]:
        """Return the user's linked identities at providers."""
        return await self._storage(users.list_identities, principal.me.id)

    async def tokens(self, principal: Principal) -> tuple[TokenRecord, ...]:
        """Return the user's API tokens."""
        return await self._storage(tokens.list_tokens, principal.me.id)

    async def make_token(self, principal: Principal, request: NewToken) -> tuple[TokenRecord, str]:
        """Create an API token; the second value is its secret, which can't be retrieved later.

        Raises:
            AccessError: if the principal uses a token, or has too many.
        """
        if principal.credential.token_id is not None:
            raise ForbiddenError("A token can't create tokens. Sign in to create one.")
        user = principal.me
        if len(await self._storage(tokens.list_tokens, user.id)) >= _MAX_TOKENS:
            raise OverLimitError(f"At most {_MAX_TOKENS} tokens are allowed. Revoke some.")
        secret = new_api_token()
        token = await self._storage(
            tokens.add_token, user.id, digest(secret), name=request.name, scope=request.scope
        )
        await self._audit.note(principal, "token_created", request.name, {"scope": request.scope})
        return token, secret

    async def revoke_token(self, principal: Principal, token_id: str) -> None:
        """Revoke one of the user's API tokens.

        Raises:
            ForbiddenError: if the principal uses a token.
            UnknownThingError: if the user has no token with this id.
        """
        _check_session(principal)
        revoked = await self._storage(tokens.revoke_token, principal.me.id, token_id)
        if revoked is None:
            raise UnknownThingError("You have no token with this id.")
        self._passes.end_token(token_id)
        await self._audit.note(principal, "token_revoked", revoked.name)

    async def sessions(self, principal: Principal) -> tuple[SessionRecord, ...]:
        """Return the user's sessions."""
        return await self._storage(sessions.list_sessions, principal.me.id)

    async def end_session(self, principal: Principal, session_id: str) -> None:
        """End one of the user's sessions, which may be the current one.

        Raises:
            ForbiddenError: if the principal uses a token.
            UnknownThingError: if the user has no session with this id.
        """
        _check_session(principal)
        if session_id not in {session.id for session in await self.sessions(principal)}:
            raise UnknownThingError("You have no session with this id.")
        await self._storage(sessions.end_session, session_id)
        await self._audit.note(principal, "session_ended")
        self._passes.end_session(session_id)

    async def note_avatar(self, principal: Principal, *, has_one: bool) -> UserRecord:
        """Store whether the user has a picture."""
        _check_may_write(principal)
        return await self._save(principal, avatar_at=datetime.now(UTC) if has_one else None)

    async def _save(self, principal: Principal, **values: Any) -> UserRecord:
        if not values:
            return principal.me
        changed = await self._storage(users.change_user, principal.me.id, **values)
        self._passes.update(self._directory.put(changed))
        return changed

    async def _new_password(self, principal: Principal, changes: ProfileChanges) -> str:
        assert changes.password is not None
        check_password(changes.password)
        user = principal.me
        if user.password_hash is not None:
            if changes.current_password is None:
                raise InputError(
                    "current_password is needed to change the password.", field="current_password"
                )
            caller = Caller(address=principal.address)
            try:
                await self._signing_in.check_password_of(
                    user.email, changes.current_password, caller
                )
            except WrongCredentialsError:
                raise InputError(
                    "The current password is wrong.", field="current_password"
                ) from None
        return await self._passwords.hash(changes.password, network=network_of(principal.address))

    async def _end_other_sessions(self, principal: Principal) -> None:
        user, current = principal.me, principal.credential.session_id
        await self._storage(sessions.end_sessions_of, user.id, but=current)
        self._passes.end_of(user.id, but=current or "none")

    def _locked(self, token: str | None) -> str | None:
        text = (token or "").strip()
        if text and not (text.isascii() and text.isprintable() and " " not in text):
            raise InputError("hf_token must be a token as Hugging Face shows it.", field="hf_token")
        return self._vault.lock(text) if text else None


def _check_may_write(principal: Principal) -> None:
    """Check that the token may write; viewers may change their own account, too."""
    principal.check()
    if principal.credential.scope is TokenScope.READ:
        raise ForbiddenError("This token may only read.")


def _check_session(principal: Principal) -> None:
    """Prevent a leaked token from taking the account over or locking its owner out."""
    principal.check()
    if principal.credential.token_id is not None:
        raise ForbiddenError("A token can't do this. Sign in to do it.")
