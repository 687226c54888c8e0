"""Forgotten passwords: a code that lets one person set a new one, once and not for long."""

from datetime import UTC, datetime, timedelta

from app.accounts.auth.context import Surroundings
from app.accounts.auth.passwords import check_password
from app.accounts.auth.secrets import digest, new_code, typed_code
from app.accounts.auth.sign_in import Caller, SigningIn
from app.accounts.errors import ForbiddenError, NotResettableError
from app.accounts.requests import NewPassword
from app.accounts.visitors import Visitor
from storage.database.accounts import resets, sessions
from storage.errors import PersonNotFoundError
from storage.records.accounts import PersonRecord, ResetRecord

LASTS = timedelta(hours=24)

_CODE_GROUPS = 4


def new_reset_code() -> str:
    """Return a code that nobody guesses within its time."""
    return new_code(_CODE_GROUPS)


class Resets:
    """Administrators make codes, and who has one sets a password with it."""

    def __init__(self, around: Surroundings, signing_in: SigningIn) -> None:
        self._storage = around.storage
        self._directory = around.directory
        self._passes = around.passes
        self._passwords = around.passwords
        self._audit = around.audit
        self._signing_in = signing_in

    async def make(self, visitor: Visitor, person_id: str) -> tuple[ResetRecord, str]:
        """Let somebody set a new password; the second value is the code, never to be had again.

        Raises:
            ForbiddenError: if a token asks for it, or the person is blocked.
            PersonNotFoundError: if there is nobody of this id.
        """
        visitor.check_admin()
        if visitor.shown.token_id is not None:
            raise ForbiddenError("A token can't reset passwords. Sign in to do it.")
        person = self._directory.get(person_id)
        if person is None:
            raise PersonNotFoundError(person_id)
        if person.is_blocked:
            raise ForbiddenError(f"{person.email} is blocked. Unblock them first.")
        code = new_reset_code()
        made = await self._storage(
            resets.add_reset,
            person.id,
            digest(code),
            created_by=visitor.me.email,
            expires_at=datetime.now(UTC) + LASTS,
        )
        await self._audit.note(visitor, "reset_made", person.email)
        return made, code

    async def use(self, wanted: NewPassword, caller: Caller) -> str:
        """Set a new password, sign the person out everywhere, and in here.

        Raises:
            AccessError: if the code is not one that can be used.
            InputError: if the password can't be used.
        """
        self._signing_in.check_is_on()
        check_password(wanted.password)
        code = digest(typed_code(wanted.code))
        person = await self._whose(code, caller)
        hashed = await self._passwords.hash(wanted.password, asked_from=caller.network)
        # Only now: a password that can't be hashed right now doesn't cost the code.
        changed = await self._storage(resets.use_reset, code, password_hash=hashed)
        if changed is None:
            raise NotResettableError
        self._passes.update(self._directory.put(changed))
        await self._storage(sessions.end_sessions_of, person.id)
        self._passes.end_sessions_of(person.id)
        await self._audit.note_as(
            person.email, "password_reset", person_id=person.id, address=caller.address
        )
        return await self._signing_in.open_session(changed, caller)

    async def _whose(self, code: str, caller: Caller) -> PersonRecord:
        self._signing_in.guesses.add_code(caller.network)
        found = await self._storage(resets.find_reset, code)
        person = self._directory.get(found.person_id) if found else None
        if found is None or found.expires_at <= datetime.now(UTC) or person is None:
            await self._refuse(caller, "unknown_code")
        elif person.is_blocked:
            await self._refuse(caller, "blocked", who=person.email)
        else:
            self._signing_in.guesses.code_was_right(caller.network)
            return person
        raise NotResettableError

    async def _refuse(self, caller: Caller, reason: str, *, who: str = "nobody") -> None:
        await self._audit.note_attempt(
            "reset_refused", who=who, address=caller.address, reason=reason
        )
