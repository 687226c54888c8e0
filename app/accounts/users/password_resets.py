"""Reset forgotten passwords with a code for one user, valid once and for 24 hours."""

from datetime import UTC, datetime, timedelta

from app.accounts import ForbiddenError, NewPassword, NotResettableError, Principal
from app.accounts.auth import (
    NO_USER,
    AccountServices,
    Caller,
    SigningIn,
    check_password,
    digest,
    new_code,
    typed_code,
)
from storage import UserNotFoundError
from storage.database.accounts import password_resets, sessions
from storage.records import ResetRecord, UserRecord

RESET_LASTS = timedelta(hours=24)

_CODE_GROUPS = 4


def new_reset_code() -> str:
    """Return a code that can't be guessed while it is valid."""
    return new_code(_CODE_GROUPS)


class Resets:
    """Lets administrators create codes, and users set a new password with one."""

    def __init__(self, services: AccountServices, signing_in: SigningIn) -> None:
        self._storage = services.storage
        self._directory = services.directory
        self._passes = services.passes
        self._passwords = services.passwords
        self._audit = services.audit
        self._signing_in = signing_in

    async def make(self, principal: Principal, user_id: str) -> tuple[ResetRecord, str]:
        """Create a reset for a user; the second value is its code, which can't be retrieved later.

        Raises:
            ForbiddenError: if the principal uses a token, or the user is blocked.
            UserNotFoundError: if no user has this id.
        """
        principal.check_admin()
        if principal.credential.token_id is not None:
            raise ForbiddenError("A token can't reset passwords. Sign in to do it.")
        user = self._directory.get(user_id)
        if user is None:
            raise UserNotFoundError(user_id)
        if user.is_blocked:
            raise ForbiddenError(f"{user.email} is blocked. Unblock them first.")
        code = new_reset_code()
        reset = await self._storage(
            password_resets.add_reset,
            user.id,
            digest(code),
            created_by=principal.me.email,
            expires_at=datetime.now(UTC) + RESET_LASTS,
        )
        await self._audit.note(principal, "reset_made", user.email)
        return reset, code

    async def use(self, request: NewPassword, caller: Caller) -> str:
        """Set a new password, end all sessions of the user, and return a new session token.

        Raises:
            AccessError: if the code is invalid.
            InputError: if the password is invalid.
        """
        self._signing_in.check_is_on()
        check_password(request.password)
        code_digest = digest(typed_code(request.code))
        user = await self._user_of(code_digest, caller)
        hashed = await self._passwords.hash(request.password, network=caller.network)
        # After hashing, so that a busy server does not use up the code.
        changed = await self._storage(password_resets.use_reset, code_digest, password_hash=hashed)
        if changed is None:
            raise NotResettableError
        self._passes.update(self._directory.put(changed))
        await self._storage(sessions.end_sessions_of, user.id)
        self._passes.end_sessions_of(user.id)
        await self._audit.note_as(
            user.email, "password_reset", user_id=user.id, address=caller.address
        )
        return await self._signing_in.open_session(changed, caller)

    async def _user_of(self, code_digest: str, caller: Caller) -> UserRecord:
        self._signing_in.limits.add_code(caller.network)
        reset = await self._storage(password_resets.find_reset, code_digest)
        user = self._directory.get(reset.user_id) if reset else None
        if reset is None or reset.expires_at <= datetime.now(UTC) or user is None:
            await self._refuse(caller, "unknown_code")
        elif user.is_blocked:
            await self._refuse(caller, "blocked", who=user.email)
        else:
            self._signing_in.limits.code_was_right(caller.network)
            return user
        raise NotResettableError

    async def _refuse(self, caller: Caller, reason: str, *, who: str = NO_USER) -> None:
        await self._audit.note_attempt(
            "reset_refused", who=who, address=caller.address, reason=reason
        )
