"""Register, sign in and sign out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.accounts.addresses import network_of
from app.accounts.auth.audit_log import NOBODY
from app.accounts.auth.context import Surroundings
from app.accounts.auth.passwords import check_password
from app.accounts.auth.secrets import digest, new_code, new_session_token, same_code, typed_code
from app.accounts.errors import (
    AccountsOffError,
    RegistrationRefusedError,
    TakenError,
    WrongCredentialsError,
)
from app.accounts.limits.guesses import Guesses
from app.accounts.requests import Credentials, NewAccount, plain_email
from app.accounts.visitors import Pass
from storage.database.accounts import invitations, people, sessions
from storage.database.accounts.joining import NewIdentity, join
from storage.errors import EmailTakenError, InvitationGoneError
from storage.records.accounts import InvitationRecord, PersonRecord, Registration, Role

SESSION_LASTS = timedelta(days=14)

_MOST_SESSIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Where a request to sign in comes from, and what it showed already."""

    address: str
    browser: str = ""
    shown: Pass | None = None

    @property
    def network(self) -> str:
        """What limits count it by."""
        return network_of(self.address)


class SigningIn:
    """The way from nobody to somebody and back."""

    def __init__(self, around: Surroundings, *, is_on: bool) -> None:
        self._is_on = is_on
        self._storage = around.storage
        self._directory = around.directory
        self._passes = around.passes
        self._passwords = around.passwords
        self._audit = around.audit
        self._registering = asyncio.Lock()
        self.guesses = Guesses()
        self.setup_code: str | None = None
        """What the very first account needs, until it exists."""

    def require_setup_code(self, is_reachable: bool) -> None:
        """Ask for a code with the very first account, where strangers could be quicker."""
        self.setup_code = new_code() if is_reachable and self.is_first else None

    @property
    def is_first(self) -> bool:
        """Whether nobody has an account yet."""
        return not self._directory.everybody

    @property
    def needs_code(self) -> bool:
        """Whether a new account needs a set-up code or an invitation."""
        if self.is_first:
            return self.setup_code is not None
        return self._directory.registration is Registration.INVITE

    def check_is_on(self) -> None:
        """Make sure that there are accounts: who made one now would own the lab later.

        Raises:
            AccountsOffError: if there are none.
        """
        if not self._is_on:
            raise AccountsOffError

    async def register(self, wanted: NewAccount, caller: Caller) -> str:
        """Make an account and return what its browser shows from now on.

        Raises:
            AccessError: if this person may not have one.
            InputError: if the address or the password can't be used.
        """
        self.check_is_on()
        check_password(wanted.password)
        self.guesses.add_registration(caller.network)
        async with self._noting_refusal(wanted, caller):
            await self._invitation_for(wanted)
            password_hash = await self._passwords.hash(wanted.password, asked_from=caller.network)
            person = await self._admit(wanted, caller, password_hash=password_hash)
        return await self.open_session(person, caller)

    async def admit(
        self, wanted: NewAccount, caller: Caller, identity: NewIdentity
    ) -> PersonRecord:
        """Make an account for somebody who proved elsewhere who they are.

        Raises:
            AccessError: if this person may not have one.
            InputError: if somebody has the address.
        """
        self.check_is_on()
        self.guesses.add_registration(caller.network)
        async with self._noting_refusal(wanted, caller):
            return await self._admit(wanted, caller, identity=identity)

    @asynccontextmanager
    async def _noting_refusal(self, wanted: NewAccount, caller: Caller) -> AsyncIterator[None]:
        try:
            yield
        except (RegistrationRefusedError, TakenError) as error:
            await self._audit.note_attempt(
                "registration_refused",
                who=wanted.email,
                address=caller.address,
                reason=error.field or error.code,
            )
            raise

    async def _admit(
        self,
        wanted: NewAccount,
        caller: Caller,
        *,
        password_hash: str | None = None,
        identity: NewIdentity | None = None,
    ) -> PersonRecord:
        # One at a time: what was checked before the slow hash may have changed since.
        async with self._registering:
            invitation = await self._invitation_for(wanted)
            try:
                person = await self._storage(
                    join,
                    email=wanted.email,
                    name=wanted.name or wanted.email.partition("@")[0][:100],
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
            self._directory.put(person)
        if invitation is not None:
            self.guesses.was_invited(caller.network)
        await self._audit.note_as(
            person.email, "registered", person_id=person.id, address=caller.address
        )
        return person

    async def login(self, credentials: Credentials, caller: Caller) -> str:
        """Sign in and return what the browser shows from now on.

        Raises:
            AccountsOffError: if there are no accounts.
            TooManyError: if this was tried too often.
            WrongCredentialsError: if the address or the password is wrong.
        """
        self.check_is_on()
        email = plain_email(credentials.email)
        await self.check_password_of(email, credentials.password, caller)
        person = self._directory.find(email)
        assert person is not None
        return await self.open_session(person, caller)

    async def check_password_of(self, email: str, password: str, caller: Caller) -> None:
        """Make sure that this is the password of who has this address, in a time that says nothing.

        Raises:
            TooManyError: if this was tried too often.
            WrongCredentialsError: if it isn't, or nobody has the address, or they are blocked.
        """
        self.guesses.add(email, caller.network)
        kept = self._password_of(email)
        is_right = await self._passwords.matches(password, kept, asked_from=caller.network)
        # Looked up again: it may have been changed, or the person blocked, during the slow hash.
        if not is_right or kept != self._password_of(email):
            await self._note_failure(email, caller)
            raise WrongCredentialsError
        self.guesses.was_right(email, caller.network)

    def _password_of(self, email: str) -> str | None:
        person = self._directory.find(email)
        return None if person is None or person.is_blocked else person.password_hash

    async def _note_failure(self, email: str, caller: Caller) -> None:
        """Note a wrong password, and never what nobody here is called: it may be a password."""
        person = self._directory.find(email)
        who, reason = (NOBODY, "unknown_address") if person is None else (email, "wrong_password")
        if person is not None and person.is_blocked:
            reason = "blocked"
        await self._audit.note_attempt(
            "sign_in_failed", who=who, address=caller.address, reason=reason
        )

    async def open_session(self, person: PersonRecord, caller: Caller) -> str:
        """Begin a session with a token that nobody has seen; what was shown before ends.

        Raises:
            WrongCredentialsError: if the person was blocked or has another password meanwhile.
        """
        await self._make_room(person)
        token = new_session_token()
        session = await self._storage(
            sessions.add_session,
            person.id,
            digest(token),
            expires_at=datetime.now(UTC) + SESSION_LASTS,
            address=caller.address,
            browser=caller.browser,
        )
        await self._check_is_still(person, session.id)
        changed = await self._storage(
            people.change_person, person.id, last_login_at=datetime.now(UTC)
        )
        self._passes.update(self._directory.put(changed))
        await self._audit.note_as(
            person.email, "signed_in", person_id=person.id, address=caller.address
        )
        if caller.shown is not None and caller.shown.session_id is not None:
            await self._end(caller.shown.session_id)
        return token

    async def _check_is_still(self, person: PersonRecord, session_id: str) -> None:
        """Who was blocked, or has a new password, was signed out before this session was there."""
        now = self._directory.get(person.id)
        if now is None or now.is_blocked or now.password_hash != person.password_hash:
            await self._end(session_id)
            raise WrongCredentialsError

    async def logout(self, caller: Caller) -> None:
        """End the session that was shown; its open pages and streams end with it."""
        shown = caller.shown
        if shown is None or shown.session_id is None or shown.person is None:
            return
        await self._end(shown.session_id)
        person = shown.person
        await self._audit.note_as(
            person.email, "signed_out", person_id=person.id, address=caller.address
        )

    async def _end(self, session_id: str) -> None:
        await self._storage(sessions.end_session, session_id)
        self._passes.end_session(session_id)

    async def _make_room(self, person: PersonRecord) -> None:
        """Forget the oldest sessions of somebody who never signs out."""
        for old in (await self._storage(sessions.list_sessions, person.id))[_MOST_SESSIONS - 1 :]:
            await self._end(old.id)

    async def _invitation_for(self, wanted: NewAccount) -> InvitationRecord | None:
        """Return the invitation that lets somebody in, None if they need none."""
        if self.is_first:
            self._check_setup_code(wanted)
            return None
        match self._directory.registration:
            case Registration.OPEN:
                return None
            case Registration.CLOSED:
                raise RegistrationRefusedError(
                    "This lab takes no new accounts. Ask its administrator."
                )
            case Registration.INVITE:
                return await self._valid_invitation(wanted)

    def _check_setup_code(self, wanted: NewAccount) -> None:
        if self.setup_code is None:
            return
        if not wanted.setup_code or not same_code(wanted.setup_code, self.setup_code):
            raise RegistrationRefusedError(
                "The first account needs the set-up code that the server's console shows.",
                field="setup_code",
            )

    async def _valid_invitation(self, wanted: NewAccount) -> InvitationRecord:
        code = typed_code(wanted.invitation or "")
        found = await self._storage(invitations.find_invitation, digest(code)) if code else None
        is_good = (
            found is not None
            and found.used_at is None
            and found.expires_at > datetime.now(UTC)
            and found.email in {None, wanted.email}
        )
        if found is None or not is_good:
            raise _no_invitation()
        return found


def _no_invitation() -> RegistrationRefusedError:
    return RegistrationRefusedError(
        "A new account needs an invitation that is not used and not expired. "
        "Ask an administrator for one.",
        field="invitation",
    )
