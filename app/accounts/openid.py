"""Sign in with an account elsewhere: from the first click to a session here."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError

from app.accounts.errors import AccessError, ForbiddenError, UnknownThingError
from app.accounts.providers import Challenge, Identity, OpenIdProvider
from app.accounts.requests import NewAccount
from app.accounts.secrets import digest
from app.accounts.signing_in import Caller, SigningIn
from app.accounts.surroundings import Surroundings
from storage import people
from storage.account_records import PersonRecord
from storage.errors import EmailTakenError
from storage.joining import NewIdentity

T = TypeVar("T")

_FINISHED_WITHIN_S = 600.0
_MOST_UNFINISHED = 1_000


class BrokenSignInError(AccessError):
    """What came back doesn't belong to what was begun here."""

    status = 400
    code = "broken_sign_in"

    def __init__(self) -> None:
        super().__init__("This sign-in was not begun here, or took too long. Begin again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A sign-in that somebody left for, bound to the browser they left with."""

    provider: OpenIdProvider
    challenge: Challenge
    browser: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unproven:
    """Somebody who is known elsewhere, but not yet who they are here."""

    provider: OpenIdProvider
    identity: Identity
    target: str
    person: PersonRecord | None
    """Whose password is needed; None: a new account, for which a code may be needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """What the browser shows from now on, and where it wanted to go."""

    token: str
    target: str


class OpenId:
    """Keeps what was begun in memory: a restart of the server means to begin again."""

    def __init__(
        self,
        around: Surroundings,
        signing_in: SigningIn,
        providers: tuple[OpenIdProvider, ...],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.providers = tuple(provider.client for provider in providers)
        self._providers = {provider.client.id: provider for provider in providers}
        self._storage = around.storage
        self._directory = around.directory
        self._audit = around.audit
        self._signing_in = signing_in
        self._begun = _ForAWhile[Begun](clock)
        self._unproven = _ForAWhile[Unproven](clock)

    async def begin(self, provider_id: str, *, redirect_uri: str, target: str) -> tuple[str, str]:
        """Return where somebody signs in, and what their browser has to come back with.

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
        browser = secrets.token_urlsafe(32)
        self._begun.put(
            challenge.state,
            Begun(provider=provider, challenge=challenge, browser=digest(browser), target=target),
        )
        return address, browser

    async def complete(
        self, *, state: str, code: str, browser: str, caller: Caller
    ) -> SignedIn | Unproven:
        """Sign somebody in who came back, or say what they have to prove first.

        Raises:
            AccessError: if what came back proves nothing, or they may not come in.
        """
        self._signing_in.check_is_on()
        begun = self._begun.take(state)
        if begun is None or not secrets.compare_digest(begun.browser, digest(browser)):
            raise BrokenSignInError
        identity = await begun.provider.identify(begun.challenge, code)
        known = await self._storage(people.find_identity, identity.issuer, identity.subject)
        if known is not None:
            return await self._open(known, begun.target, caller)
        unproven = Unproven(
            provider=begun.provider,
            identity=identity,
            target=begun.target,
            person=self._whose(identity, caller),
        )
        self._unproven.put(digest(browser), unproven)
        return unproven

    def unproven(self, browser: str) -> Unproven:
        """Return who has something to prove.

        Raises:
            AccessError: if nobody has, with this browser.
        """
        self._signing_in.check_is_on()
        found = self._unproven.get(digest(browser))
        if found is None:
            raise BrokenSignInError
        return found

    async def link(self, browser: str, password: str, caller: Caller) -> SignedIn:
        """Connect an account elsewhere with the one here whose password is given, and sign in.

        Raises:
            AccessError: if the password is wrong.
        """
        unproven = self.unproven(browser)
        if unproven.person is None:
            raise BrokenSignInError
        await self._signing_in.check_password_of(unproven.person.email, password, caller)
        person = self._directory.get(unproven.person.id)
        assert person is not None
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
        return await self._connected(browser, unproven, person, caller)

    async def join(self, browser: str, wanted_code: str, caller: Caller) -> SignedIn:
        """Make an account here for somebody who has one elsewhere, and sign in.

        Raises:
            AccessError: if they may not have one.
            InputError: if somebody has their address meanwhile.
        """
        unproven = self.unproven(browser)
        email = unproven.identity.email
        if unproven.person is not None or email is None:
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
        return await self._connected(browser, unproven, person, caller)

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
        self, browser: str, unproven: Unproven, person: PersonRecord, caller: Caller
    ) -> SignedIn:
        self._unproven.take(digest(browser))
        await self._audit.note_as(
            person.email,
            "account_connected",
            person_id=person.id,
            subject=unproven.provider.client.name,
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
        provider=unproven.provider.client.id,
    )


class _ForAWhile(Generic[T]):
    """Keeps a bounded number of things for ten minutes."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, T]] = {}

    def put(self, key: str, value: T) -> None:
        if len(self._kept) >= _MOST_UNFINISHED:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = (self._clock() + _FINISHED_WITHIN_S, value)

    def get(self, key: str) -> T | None:
        until, value = self._kept.get(key, (0.0, None))
        return value if self._clock() < until else None

    def take(self, key: str) -> T | None:
        found = self.get(key)
        self._kept.pop(key, None)
        return found
