"""Register, sign in and sign out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.accounts import (
    AccountsOffError,
    Credentials,
    NewAccount,
    Pass,
    RegistrationRefusedError,
    TakenError,
    WrongCredentialsError,
    network_of,
    plain_email,
)
from app.accounts.auth.account_services import AccountServices
from app.accounts.auth.audit_log import NO_USER
from app.accounts.auth.passwords import check_password
from app.accounts.auth.secrets import digest, new_code, new_session_token, same_code, typed_code
from app.accounts.limits import SignInLimits
from storage import EmailTakenError, InvitationGoneError
from storage.database.accounts import NewIdentity, invitations, join, sessions, users
from storage.records import InvitationRecord, Registration, Role, UserRecord

SESSION_LASTS = timedelta(days=14)

_MAX_SESSIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The client of a sign-in request, and the credential that it already has."""

    address: str
    browser: str = ""
    credential: Pass | None = None

    @property
    def network(self) -> str:
        """The network that rate limits count it by."""
        return network_of(self.address)


class SigningIn:
    """Registers users, and opens and ends their sessions."""

    def __init__(self, services: AccountServices, *, is_on: bool) -> None:
        self._is_on = is_on
        self._storage = services.storage
        self._directory = services.directory
        self._passes = services.passes
        self._passwords = services.passwords
        self._audit = services.audit
        self._registering = asyncio.Lock()
        self.limits = SignInLimits()
        self.setup_code: str | None = None
        """Code that the first account needs, until it exists."""

    def require_setup_code(self, is_reachable: bool) -> None:
        """Require a code for the first account if others could reach the server first."""
        self.setup_code = new_code() if is_reachable and self.is_first else None

    @property
    def is_first(self) -> bool:
        """Whether no account exists yet."""
        return not self._directory.all_users

    @property
    def needs_code(self) -> bool:
        """Whether a new account needs a set-up code or an invitation."""
        if self.is_first:
            return self.setup_code is not None
        return self._directory.registration is Registration.INVITE

    def check_is_on(self) -> None:
        """Check that accounts are on: an account created now would own the lab later.

        Raises:
            AccountsOffError: if they are off.
        """
        if not self._is_on:
            raise AccountsOffError

    async def register(self, account: NewAccount, caller: Caller) -> str:
        """Create an account and return its session token.

        Raises:
            AccessError: if this user may not register.
            InputError: if the address or the password is invalid.
        """
        self.check_is_on()
        check_password(account.password)
        self.limits.add_registration(caller.network)
        async with self._noting_refusal(account, caller):
            await self._invitation_for(account)
            password_hash = await self._passwords.hash(account.password, network=caller.network)
            user = await self._admit(account, caller, password_hash=password_hash)
        return await self.open_session(user, caller)

    async def admit(self, account: NewAccount, caller: Caller, identity: NewIdentity) -> UserRecord:
        """Create an account for an identity that a provider has verified.

        Raises:
            AccessError: if this user may not register.
            InputError: if the address is taken.
        """
        self.check_is_on()
        self.limits.add_registration(caller.network)
        async with self._noting_refusal(account, caller):
            return await self._admit(account, caller, identity=identity)

    @asynccontextmanager
    async def _noting_refusal(self, account: NewAccount, caller: Caller) -> AsyncIterator[None]:
        try:
            yield
        except (RegistrationRefusedError, TakenError) as error:
            await self._audit.note_attempt(
                "registration_refused",
                who=account.email,
                address=caller.address,
                reason=error.field or error.code,
            )
            raise

    async def _admit(
        self,
        account: NewAccount,
        caller: Caller,
        *,
        password_hash: str | None = None,
        identity: NewIdentity | None = None,
    ) -> UserRecord:
        # One at a time, and checked again: the state may have changed during the slow hash.
        async with self._registering:
            invitation = await self._invitation_for(account)
            try:
                user = await self._storage(
                    join,
                    email=account.email,
                    name=account.name or account.email.partition("@")[0][:100],
                    role=invitation.role if invitation else Role.MEMBER,
                    password_hash=password_hash,
                    identity=identity,
                    invitation_id=invitation.id if invitation else None,
                )
            except EmailTakenError:
                raise TakenError from None
            except InvitationGoneError:
                raise _no_invitation() from None
            self.setup_code = None
            self._directory.put(user)
        if invitation is not None:
            self.limits.was_invited(caller.network)
        await self._audit.note_as(user.email, "registered", user_id=user.id, address=caller.address)
        return user

    async def login(self, credentials: Credentials, caller: Caller) -> str:
        """Sign in and return the session token.

        Raises:
            AccountsOffError: if there are no accounts.
            TooManyError: if there were too many attempts.
            WrongCredentialsError: if the address or the password is wrong.
        """
        self.check_is_on()
        email = plain_email(credentials.email)
        await self.check_password_of(email, credentials.password, caller)
        user = self._directory.find(email)
        assert user is not None
        return await self.open_session(user, caller)

    async def check_password_of(self, email: str, password: str, caller: Caller) -> None:
        """Check the password of the user with this address, in a time that reveals nothing.

        Raises:
            TooManyError: if there were too many attempts.
            WrongCredentialsError: if the password or address is wrong, or the user is blocked.
        """
        self.limits.add(email, caller.network)
        hashed = self._password_hash_of(email)
        is_right = await self._passwords.matches(password, hashed, network=caller.network)
        # Looked up again: it may have been changed, or the user blocked, during the slow hash.
        if not is_right or hashed != self._password_hash_of(email):
            await self._note_failure(email, caller)
            raise WrongCredentialsError
        self.limits.was_right(email, caller.network)

    def _password_hash_of(self, email: str) -> str | None:
        user = self._directory.find(email)
        return None if user is None or user.is_blocked else user.password_hash

    async def _note_failure(self, email: str, caller: Caller) -> None:
        """Log a failed sign-in, but no unknown address: it may be a password typed there."""
        user = self._directory.find(email)
        who, reason = (NO_USER, "unknown_address") if user is None else (email, "wrong_password")
        if user is not None and user.is_blocked:
            reason = "blocked"
        await self._audit.note_attempt(
            "sign_in_failed", who=who, address=caller.address, reason=reason
        )

    async def open_session(self, user: UserRecord, caller: Caller) -> str:
        """Open a session with a new token, and end the session that the caller had.

        Raises:
            WrongCredentialsError: if the user was blocked or changed the password meanwhile.
        """
        await self._end_oldest_sessions(user)
        token = new_session_token()
        session = await self._storage(
            sessions.add_session,
            user.id,
            digest(token),
            expires_at=datetime.now(UTC) + SESSION_LASTS,
            address=caller.address,
            browser=caller.browser,
        )
        await self._check_unchanged(user, session.id)
        changed = await self._storage(users.change_user, user.id, last_login_at=datetime.now(UTC))
        self._passes.update(self._directory.put(changed))
        await self._audit.note_as(user.email, "signed_in", user_id=user.id, address=caller.address)
        if caller.credential is not None and caller.credential.session_id is not None:
            await self._end(caller.credential.session_id)
        return token

    async def _check_unchanged(self, user: UserRecord, session_id: str) -> None:
        """End the new session if the user was blocked or changed the password meanwhile.

        That ended all sessions, but this one did not exist yet.
        """
        now = self._directory.get(user.id)
        if now is None or now.is_blocked or now.password_hash != user.password_hash:
            await self._end(session_id)
            raise WrongCredentialsError

    async def logout(self, caller: Caller) -> None:
        """End the caller's session, with its open pages and streams."""
        credential = caller.credential
        if credential is None or credential.session_id is None or credential.user is None:
            return
        await self._end(credential.session_id)
        user = credential.user
        await self._audit.note_as(user.email, "signed_out", user_id=user.id, address=caller.address)

    async def _end(self, session_id: str) -> None:
        await self._storage(sessions.end_session, session_id)
        self._passes.end_session(session_id)

    async def _end_oldest_sessions(self, user: UserRecord) -> None:
        """Keep a user who never signs out below the limit of sessions."""
        for old in (await self._storage(sessions.list_sessions, user.id))[_MAX_SESSIONS - 1 :]:
            await self._end(old.id)

    async def _invitation_for(self, account: NewAccount) -> InvitationRecord | None:
        """Return the invitation for a new account, or None if it needs none."""
        if self.is_first:
            self._check_setup_code(account)
            return None
        match self._directory.registration:
            case Registration.OPEN:
                return None
            case Registration.CLOSED:
                raise RegistrationRefusedError("Registration is closed. Ask an administrator.")
            case Registration.INVITE:
                return await self._valid_invitation(account)

    def _check_setup_code(self, account: NewAccount) -> None:
        if self.setup_code is None:
            return
        if not account.setup_code or not same_code(account.setup_code, self.setup_code):
            raise RegistrationRefusedError(
                "The first account needs the set-up code that the server's console shows.",
                field="setup_code",
            )

    async def _valid_invitation(self, account: NewAccount) -> InvitationRecord:
        code, invitation = typed_code(account.invitation or ""), None
        if code:
            invitation = await self._storage(invitations.find_invitation, digest(code))
        is_valid = (
            invitation is not None
            and invitation.used_at is None
            and invitation.expires_at > datetime.now(UTC)
            and invitation.email in {None, account.email}
        )
        if invitation is None or not is_valid:
            raise _no_invitation()
        return invitation


def _no_invitation() -> RegistrationRefusedError:
    return RegistrationRefusedError(
        "A new account needs an invitation that is not used and not expired. "
        "Ask an administrator for one.",
        field="invitation",
    )
