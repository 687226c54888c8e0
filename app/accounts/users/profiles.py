"""What people do about their own account: name, password, tokens, sessions, picture."""

from datetime import UTC, datetime
from typing import Any

from app.accounts.addresses import network_of
from app.accounts.auth.context import Surroundings
from app.accounts.auth.passwords import check_password
from app.accounts.auth.secrets import Vault, digest, new_api_token
from app.accounts.auth.sign_in import Caller, SigningIn
from app.accounts.errors import (
    ForbiddenError,
    OverLimitError,
    UnknownThingError,
    WrongCredentialsError,
)
from app.accounts.requests import NewToken, ProfileChanges
from app.accounts.visitors import Visitor
from app.core.errors import InputError
from storage.database.accounts import people, sessions, tokens
from storage.records.accounts import (
    IdentityRecord,
    PersonRecord,
    SessionRecord,
    TokenRecord,
    TokenScope,
)

_MOST_TOKENS = 50


class Profiles:
    """Each person's own account, as they themselves see and change it."""

    def __init__(self, around: Surroundings, signing_in: SigningIn, vault: Vault) -> None:
        self._storage = around.storage
        self._directory = around.directory
        self._passes = around.passes
        self._passwords = around.passwords
        self._audit = around.audit
        self._signing_in = signing_in
        self._vault = vault

    async def change(self, visitor: Visitor, changes: ProfileChanges) -> PersonRecord:
        """Change somebody's own name, password or Hugging Face token.

        Raises:
            AccessError: if a token asks for what needs a session.
            InputError: if the current password is wrong, or a value can't be used.
        """
        _check_may_write(visitor)
        values: dict[str, Any] = {}
        if changes.name is not None:
            values["name"] = changes.name
        if "hf_token" in changes.model_fields_set:
            values["hf_token"] = self._locked(changes.hf_token)
        if changes.password is not None:
            _check_session(visitor)
            values["password_hash"] = await self._new_password(visitor, changes)
        changed = await self._save(visitor, **values)
        if "password_hash" in values:
            await self._end_other_sessions(visitor)
        for name in values:
            await self._audit.note(visitor, f"{name.removesuffix('_hash')}_changed")
        return changed

    def hf_token_of(self, visitor: Visitor) -> str | None:
        """Return somebody's Hugging Face token, to use it for them."""
        locked = visitor.me.hf_token
        return None if locked is None else self._vault.unlock(locked)

    async def identities(self, visitor: Visitor) -> tuple[IdentityRecord, ...]:
        """Return somebody's own accounts elsewhere."""
        return await self._storage(people.list_identities, visitor.me.id)

    async def tokens(self, visitor: Visitor) -> tuple[TokenRecord, ...]:
        """Return somebody's own tokens."""
        return await self._storage(tokens.list_tokens, visitor.me.id)

    async def make_token(self, visitor: Visitor, wanted: NewToken) -> tuple[TokenRecord, str]:
        """Make a token; the second value is what the program shows, and never to be had again.

        Raises:
            AccessError: if a token asks for it, or there are too many.
        """
        if visitor.shown.token_id is not None:
            raise ForbiddenError("A token can't make tokens. Sign in to make one.")
        person = visitor.me
        if len(await self._storage(tokens.list_tokens, person.id)) >= _MOST_TOKENS:
            raise OverLimitError(f"Nobody may have more than {_MOST_TOKENS} tokens. Revoke some.")
        shown = new_api_token()
        made = await self._storage(
            tokens.add_token, person.id, digest(shown), name=wanted.name, scope=wanted.scope
        )
        await self._audit.note(visitor, "token_created", wanted.name, {"scope": wanted.scope})
        return made, shown

    async def revoke_token(self, visitor: Visitor, token_id: str) -> None:
        """Take one of somebody's own tokens away.

        Raises:
            ForbiddenError: if a token asks for it.
            UnknownThingError: if they have none of this id.
        """
        _check_session(visitor)
        gone = await self._storage(tokens.revoke_token, visitor.me.id, token_id)
        if gone is None:
            raise UnknownThingError("You have no token of this id.")
        self._passes.end_token(token_id)
        await self._audit.note(visitor, "token_revoked", gone.name)

    async def sessions(self, visitor: Visitor) -> tuple[SessionRecord, ...]:
        """Return where somebody is signed in."""
        return await self._storage(sessions.list_sessions, visitor.me.id)

    async def end_session(self, visitor: Visitor, session_id: str) -> None:
        """Sign somebody out elsewhere, or here.

        Raises:
            ForbiddenError: if a token asks for it.
            UnknownThingError: if they have no session of this id.
        """
        _check_session(visitor)
        if session_id not in {session.id for session in await self.sessions(visitor)}:
            raise UnknownThingError("You have no session of this id.")
        await self._storage(sessions.end_session, session_id)
        await self._audit.note(visitor, "session_ended")
        self._passes.end_session(session_id)

    async def note_avatar(self, visitor: Visitor, *, has_one: bool) -> PersonRecord:
        """Remember that somebody has a picture, or none any more."""
        _check_may_write(visitor)
        return await self._save(visitor, avatar_at=datetime.now(UTC) if has_one else None)

    async def _save(self, visitor: Visitor, **values: Any) -> PersonRecord:
        if not values:
            return visitor.me
        changed = await self._storage(people.change_person, visitor.me.id, **values)
        self._passes.update(self._directory.put(changed))
        return changed

    async def _new_password(self, visitor: Visitor, changes: ProfileChanges) -> str:
        assert changes.password is not None
        check_password(changes.password)
        person = visitor.me
        if person.password_hash is not None:
            if changes.current_password is None:
                raise InputError(
                    "current_password is needed to change the password.", field="current_password"
                )
            caller = Caller(address=visitor.address)
            try:
                await self._signing_in.check_password_of(
                    person.email, changes.current_password, caller
                )
            except WrongCredentialsError:
                raise InputError(
                    "The current password is wrong.", field="current_password"
                ) from None
        return await self._passwords.hash(changes.password, asked_from=network_of(visitor.address))

    async def _end_other_sessions(self, visitor: Visitor) -> None:
        person, here = visitor.me, visitor.shown.session_id
        await self._storage(sessions.end_sessions_of, person.id, but=here)
        self._passes.end_of(person.id, but=here or "none")

    def _locked(self, token: str | None) -> str | None:
        text = (token or "").strip()
        if text and not (text.isascii() and text.isprintable() and " " not in text):
            raise InputError("hf_token must be a token as Hugging Face shows it.", field="hf_token")
        return self._vault.lock(text) if text else None


def _check_may_write(visitor: Visitor) -> None:
    """Viewers may change their own account; tokens for reading may change nothing."""
    visitor.check()
    if visitor.shown.scope is TokenScope.READ:
        raise ForbiddenError("This token may only read.")


def _check_session(visitor: Visitor) -> None:
    """Who finds a token must not be able to take the account over, or to lock its owner out."""
    visitor.check()
    if visitor.shown.token_id is not None:
        raise ForbiddenError("A token can't do this. Sign in to do it.")
