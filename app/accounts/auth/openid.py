"""Sign in with an account elsewhere: from the first click to a session here."""

import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import msgspec
from pydantic import ValidationError

from app.accounts.auth.audit_log import NOBODY
from app.accounts.auth.context import Surroundings
from app.accounts.auth.providers import Challenge, Identity, OpenIdProvider
from app.accounts.auth.secrets import Vault, digest
from app.accounts.auth.sign_in import Caller, SigningIn
from app.accounts.errors import AccessError, ForbiddenError, UnknownThingError
from app.accounts.requests import NewAccount
from storage.database.accounts import people
from storage.database.accounts.joining import NewIdentity
from storage.errors import EmailTakenError
from storage.records.accounts import PersonRecord

FINISHED_WITHIN_S = 600

_LONGEST_TARGET = 1_000
_MOST_USED = 20_000


class BrokenSignInError(AccessError):
    """What came back doesn't belong to what was begun here."""

    status = HTTPStatus.BAD_REQUEST
    code = "broken_sign_in"

    def __init__(self) -> None:
        super().__init__("This sign-in was not begun here, or took too long. Begin again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A sign-in that somebody left for; it travels in a cookie of the browser they left with."""

    provider_id: str
    challenge: Challenge
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproven:
    """Somebody who is known elsewhere, but not yet who they are here; it travels, too."""

    provider_id: str
    provider_name: str
    identity: Identity
    target: str
    person_id: str | None
    email: str | None
    """Whose password is needed; None: a new account, for which a code may be needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """What the browser shows from now on, and where it wanted to go."""

    token: str
    target: str


class OpenId:
    """Lets browsers keep what was begun, encrypted: nobody's sign-in is in the way of another's."""

    def __init__(
        self,
        around: Surroundings,
        signing_in: SigningIn,
        providers: tuple[OpenIdProvider, ...],
        *,
        secret: bytes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.providers = tuple(provider.client for provider in providers)
        self._providers = {provider.client.id: provider for provider in providers}
        self._storage = around.storage
        self._directory = around.directory
        self._audit = around.audit
        self._signing_in = signing_in
        self._begun = Vault(secret, purpose="sign-in begun", clock=clock)
        self._unproven = Vault(secret, purpose="sign-in unproven", clock=clock)
        self._used = _Used(clock)

    async def begin(self, provider_id: str, *, redirect_uri: str, target: str) -> tuple[str, str]:
        """Return where somebody signs in, and the cookie their browser has to come back with.

        Raises:
            AccessError: if there is no such provider, or it doesn't answer.
        """
        self._signing_in.check_is_on()
        provider = self._providers.get(provider_id)
        if provider is None:
            raise UnknownThingError(f"Nobody signs in with {provider_id[:40]!r} here.")
        challenge = Challenge(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            redirect_uri=redirect_uri,
        )
        address = await provider.sign_in_address(challenge)
        # A browser forgets a cookie that is too long.
        target = target if len(target) <= _LONGEST_TARGET else "/"
        begun = Begun(provider_id=provider_id, challenge=challenge, target=target)
        return address, _lock(self._begun, begun)

    async def complete(
        self, provider_id: str, *, state: str, code: str, kept: str, caller: Caller
    ) -> SignedIn | Unproven:
        """Sign somebody in who came back, or say what they have to prove first.

        `kept` is the cookie that `begin` gave.

        Raises:
            AccessError: if what came back proves nothing, or they may not come in.
        """
        self._signing_in.check_is_on()
        async with self._noting_failure(provider_id, caller):
            begun = self._take(provider_id, state, kept)
            self._signing_in.guesses.add_return(caller.network)
            identity = await self._providers[provider_id].identify(begun.challenge, code)
            known = await self._storage(people.find_identity, identity.issuer, identity.subject)
            if known is not None:
                return await self._open(known, begun.target, caller)
            person = self._whose(identity, caller)
        return Unproven(
            provider_id=provider_id,
            provider_name=self._providers[provider_id].client.name,
            identity=identity,
            target=begun.target,
            person_id=person.id if person else None,
            email=person.email if person else identity.email,
        )

    def keep(self, unproven: Unproven) -> str:
        """Return the cookie with which somebody can prove the rest, for a while."""
        return _lock(self._unproven, unproven)

    def unproven(self, kept: str) -> Unproven:
        """Return who has something to prove; `kept` is the cookie that `keep` gave.

        Raises:
            AccessError: if nobody has, with this browser.
        """
        self._signing_in.check_is_on()
        found = self._unproven.unlock(kept, within_s=FINISHED_WITHIN_S)
        if found is None:
            raise BrokenSignInError
        return msgspec.json.decode(found, type=Unproven)

    def _take(self, provider_id: str, state: str, kept: str) -> Begun:
        """Return what was begun in this browser, once."""
        found = self._begun.unlock(kept, within_s=FINISHED_WITHIN_S)
        if found is None:
            raise BrokenSignInError
        begun = msgspec.json.decode(found, type=Begun)
        is_same = secrets.compare_digest(begun.challenge.state.encode(), state.encode())
        if not is_same or begun.provider_id != provider_id or provider_id not in self._providers:
            raise BrokenSignInError
        if not self._used.add(digest(state)):
            raise BrokenSignInError
        return begun

    @asynccontextmanager
    async def _noting_failure(self, provider_id: str, caller: Caller) -> AsyncIterator[None]:
        try:
            yield
        except AccessError as error:
            known = self._providers.get(provider_id)
            await self._audit.note_attempt(
                "sign_in_failed",
                who=NOBODY,
                subject=known.client.name if known else "",
                address=caller.address,
                reason=error.code,
            )
            raise

    async def link(self, unproven: Unproven, password: str, caller: Caller) -> SignedIn:
        """Connect an account elsewhere with the one here whose password is given, and sign in.

        Raises:
            AccessError: if the password is wrong.
        """
        person = self._directory.get(unproven.person_id)
        if person is None:
            raise BrokenSignInError
        await self._signing_in.check_password_of(person.email, password, caller)
        new = _new_identity(unproven)
        try:
            await self._storage(
                people.add_identity,
                new.issuer,
                new.subject,
                person_id=person.id,
                provider=new.provider,
            )
        except EmailTakenError:
            raise BrokenSignInError from None
        return await self._connected(unproven, person, caller)

    async def join(self, unproven: Unproven, wanted_code: str, caller: Caller) -> SignedIn:
        """Make an account here for somebody who has one elsewhere, and sign in.

        Raises:
            AccessError: if they may not have one.
            InputError: if somebody has their address meanwhile.
        """
        email = unproven.identity.email
        if unproven.person_id is not None or email is None:
            raise BrokenSignInError
        code = wanted_code.strip()[:100] or None
        try:
            wanted = NewAccount(
                email=email,
                name=unproven.identity.name[:100],
                password="",
                setup_code=code,
                invitation=code,
            )
        except ValidationError:
            raise ForbiddenError("Your name or address there can't be used here.") from None
        person = await self._signing_in.admit(wanted, caller, _new_identity(unproven))
        return await self._connected(unproven, person, caller)

    def _whose(self, identity: Identity, caller: Caller) -> PersonRecord | None:
        """Return whose account here it is to be connected with, if there is one."""
        here = caller.shown.person if caller.shown is not None else None
        if here is None and identity.email is None:
            raise ForbiddenError(
                "Your address was not confirmed there, so nobody knows who you are here. "
                "Sign in with your password, then connect the account at /profile."
            )
        person = here or self._directory.find(identity.email or "")
        if person is not None and person.password_hash is None:
            raise ForbiddenError(
                "There is an account with your address that has no password. Sign in as you did "
                "before and set one at /profile; then the accounts can be connected."
            )
        return person

    async def _connected(
        self, unproven: Unproven, person: PersonRecord, caller: Caller
    ) -> SignedIn:
        await self._audit.note_as(
            person.email,
            "account_connected",
            person_id=person.id,
            subject=unproven.provider_name,
            address=caller.address,
        )
        return await self._open(person, unproven.target, caller)

    async def _open(self, person: PersonRecord, target: str, caller: Caller) -> SignedIn:
        if person.is_blocked:
            raise ForbiddenError("This account is blocked. Ask an administrator.")
        return SignedIn(token=await self._signing_in.open_session(person, caller), target=target)


def _new_identity(unproven: Unproven) -> NewIdentity:
    return NewIdentity(
        issuer=unproven.identity.issuer,
        subject=unproven.identity.subject,
        provider=unproven.provider_id,
    )


def _lock(vault: Vault, value: Begun | Unproven) -> str:
    return vault.lock(msgspec.json.encode(value).decode())


class _Used:
    """Remembers which ways back were used, as long as they could be used again.

    Providers take a code once, too; this is the second line, so the oldest may be forgotten.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def add(self, state: str) -> bool:
        """Note that it is used now; return False if it was before."""
        now = self._clock()
        while self._until and next(iter(self._until.values())) < now:
            self._until.pop(next(iter(self._until)))
        if state in self._until:
            return False
        if len(self._until) >= _MOST_USED:
            self._until.pop(next(iter(self._until)))
        self._until[state] = now + FINISHED_WITHIN_S + 1
        return True
