"""Register, sign in and sign out."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.accounts.attempts import Attempts
from app.accounts.errors import (
    AccountsOffError,
    RegistrationRefusedError,
    TakenError,
    WrongCredentialsError,
)
from app.accounts.passwords import check_password
from app.accounts.requests import Credentials, NewAccount, plain_email
from app.accounts.secrets import digest, new_code, new_session_token, same_code
from app.accounts.surroundings import Surroundings
from app.accounts.visitors import Pass
from storage import invitations, people, sessions
from storage.account_records import InvitationRecord, PersonRecord, Registration, Role
from storage.errors import EmailTakenError, InvitationGoneError
from storage.joining import NewIdentity, join

SESSION_LASTS = timedelta(days=14)

_MOST_SESSIONS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Where a request to sign in comes from, and what it showed already."""

    address: str
    browser: str = ""
    shown: Pass | None = None


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
        self._guesses = _Guesses()
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
        self._guesses.add_registration(caller.address)
        await self._invitation_for(wanted)
        password_hash = await self._passwords.hash(wanted.password)
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
        self._guesses.add_registration(caller.address)
        return await self._admit(wanted, caller, identity=identity)

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
        self._guesses.add(email, caller.address)
        person = self._directory.find(email)
        kept = None if person is None or person.is_blocked else person.password_hash
        if not await self._passwords.matches(password, kept):
            await self._audit.note_as(email, "sign_in_failed", address=caller.address)
            raise WrongCredentialsError
        self._guesses.take_back(email, caller.address)

    async def open_session(self, person: PersonRecord, caller: Caller) -> str:
        """Begin a session with a token that nobody has seen; what was shown before ends."""
        await self._make_room(person)
        token = new_session_token()
        expires_at = datetime.now(UTC) + SESSION_LASTS
        await self._storage(
            sessions.add_session,
            person.id,
            digest(token),
            expires_at=expires_at,
            address=caller.address,
            browser=caller.browser,
        )
        changed = await self._storage(
            people.change_person, person.id, last_login_at=datetime.now(UTC)
        )
        self._passes.update(self._directory.put(changed))
        await self._audit.note_as(
            person.email, "signed_in", person_id=person.id, address=caller.address
        )
        if caller.shown is not None:
            await self.logout(caller.shown)
        return token

    async def logout(self, shown: Pass) -> None:
        """End a session; its open pages and streams end with it."""
        if shown.session_id is not None:
            await self._storage(sessions.end_session, shown.session_id)
            self._passes.end_session(shown.session_id)

    async def _make_room(self, person: PersonRecord) -> None:
        """Forget the oldest sessions of somebody who never signs out."""
        for old in (await self._storage(sessions.list_sessions, person.id))[_MOST_SESSIONS - 1 :]:
            await self._storage(sessions.end_session, old.id)
            self._passes.end_session(old.id)

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
        code = "".join((wanted.invitation or "").split()).upper()
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


class _Guesses:
    """Counts what went wrong, per account and address together, and for each of them alone."""

    def __init__(self) -> None:
        self._pairs = Attempts(5, within_s=300)
        self._addresses = Attempts(40, within_s=300)
        # Larger than for a pair: strangers elsewhere must not lock somebody out so easily.
        self._accounts = Attempts(100, within_s=900)
        # All of them, also those that were allowed: nobody needs dozens of accounts.
        self._registrations = Attempts(20, within_s=3_600)

    def add(self, email: str, address: str) -> None:
        """Count an attempt to sign in before it is judged, so that many at once don't help.

        Raises:
            TooManyError: if there were too many.
        """
        self._pairs.add((email, address), what="attempts to sign in")
        self._addresses.add(address, what="attempts to sign in")
        self._accounts.add(email, what="attempts to sign in")

    def take_back(self, email: str, address: str) -> None:
        """Uncount an attempt that was right."""
        self._pairs.take_back((email, address))
        self._addresses.take_back(address)
        self._accounts.take_back(email)

    def add_registration(self, address: str) -> None:
        """Count an attempt to register.

        Raises:
            TooManyError: if there were too many.
        """
        self._registrations.add(address, what="attempts to register")
