"""Sign in with an account at a provider: from the first click to a session."""

import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import msgspec
from pydantic import ValidationError

from app.accounts import AccessError, ForbiddenError, NewAccount, UnknownThingError
from app.accounts.auth.account_services import AccountServices
from app.accounts.auth.audit_log import NO_USER
from app.accounts.auth.providers import Challenge, Identity, OpenIdProvider
from app.accounts.auth.secrets import Vault, digest
from app.accounts.auth.sign_in import Caller, SigningIn
from storage import EmailTakenError
from storage.database.accounts import NewIdentity, users
from storage.records import UserRecord

SIGN_IN_TIMEOUT_S = 600

_LONGEST_TARGET = 1_000
_MAX_USED = 20_000


class BrokenSignInError(AccessError):
    """A provider's callback does not match a sign-in that was started here."""

    status = HTTPStatus.BAD_REQUEST
    code = "broken_sign_in"

    def __init__(self) -> None:
        super().__init__("This sign-in was not started here, or took too long. Start again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingSignIn:
    """A sign-in that continues at the provider; stored in a cookie of the browser."""

    provider_id: str
    challenge: Challenge
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlinkedIdentity:
    """A verified identity that is not linked to an account yet; stored in a cookie, too."""

    provider_id: str
    provider_name: str
    identity: Identity
    target: str
    user_id: str | None
    """The account to link, by its password; None: create a new one, which may need a code."""
    email: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """A session token for the browser, and the page to continue at."""

    token: str
    target: str


class OpenId:
    """Signs users in with providers.

    Pending sign-ins are stored encrypted in the browser, so they use no memory of the server.
    """

    def __init__(
        self,
        services: AccountServices,
        signing_in: SigningIn,
        providers: tuple[OpenIdProvider, ...],
        *,
        secret: bytes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.providers = tuple(provider.client for provider in providers)
        self._providers = {provider.client.id: provider for provider in providers}
        self._storage = services.storage
        self._directory = services.directory
        self._audit = services.audit
        self._signing_in = signing_in
        self._pending = Vault(secret, purpose="sign-in begun", clock=clock)
        self._unlinked = Vault(secret, purpose="sign-in unlinked", clock=clock)
        self._used = _UsedStates(clock)

    async def begin(self, provider_id: str, *, redirect_uri: str, target: str) -> tuple[str, str]:
        """Start a sign-in: return the provider's address and the cookie for the callback.

        Raises:
            AccessError: if there is no such provider, or it does not respond.
        """
        self._signing_in.check_is_on()
        provider = self._providers.get(provider_id)
        if provider is None:
            raise UnknownThingError(f"This server has no sign-in with {provider_id[:40]!r}.")
        challenge = Challenge(
            state=secrets.token_urlsafe(32),
            nonce=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            redirect_uri=redirect_uri,
        )
        address = await provider.sign_in_address(challenge)
        # Browsers drop cookies that are too long.
        target = target if len(target) <= _LONGEST_TARGET else "/"
        pending = PendingSignIn(provider_id=provider_id, challenge=challenge, target=target)
        return address, _lock(self._pending, pending)

    async def complete(
        self, provider_id: str, *, state: str, code: str, cookie: str, caller: Caller
    ) -> SignedIn | UnlinkedIdentity:
        """Handle a provider's callback: sign the user in, or return the identity to link first.

        `cookie` is the one that `begin` returned.

        Raises:
            AccessError: if the callback is invalid, or the user may not sign in.
        """
        self._signing_in.check_is_on()
        async with self._noting_failure(provider_id, caller):
            pending = self._take(provider_id, state, cookie)
            self._signing_in.limits.add_callback(caller.network)
            identity = await self._providers[provider_id].identify(pending.challenge, code)
            known = await self._storage(users.find_identity, identity.issuer, identity.subject)
            if known is not None:
                return await self._open(known, pending.target, caller)
            user = self._account_to_link(identity, caller)
        return UnlinkedIdentity(
            provider_id=provider_id,
            provider_name=self._providers[provider_id].client.name,
            identity=identity,
            target=pending.target,
            user_id=user.id if user else None,
            email=user.email if user else identity.email,
        )

    def seal(self, identity: UnlinkedIdentity) -> str:
        """Return a short-lived cookie with an identity that is still to be linked."""
        return _lock(self._unlinked, identity)

    def unseal(self, cookie: str) -> UnlinkedIdentity:
        """Return the identity in a cookie that `seal` returned.

        Raises:
            AccessError: if the cookie is invalid or expired.
        """
        self._signing_in.check_is_on()
        found = self._unlinked.unlock(cookie, within_s=SIGN_IN_TIMEOUT_S)
        if found is None:
            raise BrokenSignInError
        return msgspec.json.decode(found, type=UnlinkedIdentity)

    def _take(self, provider_id: str, state: str, cookie: str) -> PendingSignIn:
        """Return the sign-in that was started in this browser; works once per state."""
        found = self._pending.unlock(cookie, within_s=SIGN_IN_TIMEOUT_S)
        if found is None:
            raise BrokenSignInError
        pending = msgspec.json.decode(found, type=PendingSignIn)
        is_same = secrets.compare_digest(pending.challenge.state.encode(), state.encode())
        if not is_same or pending.provider_id != provider_id or provider_id not in self._providers:
            raise BrokenSignInError
        if not self._used.add(digest(state)):
            raise BrokenSignInError
        return pending

    @asynccontextmanager
    async def _noting_failure(self, provider_id: str, caller: Caller) -> AsyncIterator[None]:
        try:
            yield
        except AccessError as error:
            known = self._providers.get(provider_id)
            await self._audit.note_attempt(
                "sign_in_failed",
                who=NO_USER,
                subject=known.client.name if known else "",
                address=caller.address,
                reason=error.code,
            )
            raise

    async def link(self, unlinked: UnlinkedIdentity, password: str, caller: Caller) -> SignedIn:
        """Link an identity to its user's account after checking the password, and sign in.

        Raises:
            AccessError: if the password is wrong.
        """
        user = self._directory.get(unlinked.user_id)
        if user is None:
            raise BrokenSignInError
        await self._signing_in.check_password_of(user.email, password, caller)
        new = _new_identity(unlinked)
        try:
            await self._storage(
                users.add_identity,
                new.issuer,
                new.subject,
                user_id=user.id,
                provider=new.provider,
            )
        except EmailTakenError:
            raise BrokenSignInError from None
        return await self._linked(unlinked, user, caller)

    async def join(self, unlinked: UnlinkedIdentity, given_code: str, caller: Caller) -> SignedIn:
        """Create an account for an identity, and sign in.

        Raises:
            AccessError: if the user may not register.
            InputError: if the address was taken in the meantime.
        """
        email = unlinked.identity.email
        if unlinked.user_id is not None or email is None:
            raise BrokenSignInError
        code = given_code.strip()[:100] or None
        try:
            account = NewAccount(
                email=email,
                name=unlinked.identity.name[:100],
                password="",
                setup_code=code,
                invitation=code,
            )
        except ValidationError:
            raise ForbiddenError(
                "The name or address of that account can't be used here."
            ) from None
        user = await self._signing_in.admit(account, caller, _new_identity(unlinked))
        return await self._linked(unlinked, user, caller)

    def _account_to_link(self, identity: Identity, caller: Caller) -> UserRecord | None:
        """Return the existing account that an identity is to be linked to, if any."""
        signed_in = caller.credential.user if caller.credential is not None else None
        if signed_in is None and identity.email is None:
            raise ForbiddenError(
                "Your address is not verified there. Sign in with your password, then connect the "
                "account at /profile."
            )
        user = signed_in or self._directory.find(identity.email or "")
        if user is not None and user.password_hash is None:
            raise ForbiddenError(
                "There is an account with your address that has no password. Sign in as you did "
                "before and set one at /profile; then the accounts can be connected."
            )
        return user

    async def _linked(
        self, unlinked: UnlinkedIdentity, user: UserRecord, caller: Caller
    ) -> SignedIn:
        await self._audit.note_as(
            user.email,
            "account_connected",
            user_id=user.id,
            subject=unlinked.provider_name,
            address=caller.address,
        )
        return await self._open(user, unlinked.target, caller)

    async def _open(self, user: UserRecord, target: str, caller: Caller) -> SignedIn:
        if user.is_blocked:
            raise ForbiddenError("This account is blocked. Ask an administrator.")
        return SignedIn(token=await self._signing_in.open_session(user, caller), target=target)


def _new_identity(unlinked: UnlinkedIdentity) -> NewIdentity:
    return NewIdentity(
        issuer=unlinked.identity.issuer,
        subject=unlinked.identity.subject,
        provider=unlinked.provider_id,
    )


def _lock(vault: Vault, value: PendingSignIn | UnlinkedIdentity) -> str:
    return vault.lock(msgspec.json.encode(value).decode())


class _UsedStates:
    """Remembers states that were used, until they expire, to prevent replays.

    Providers accept a code only once, too, so dropping the oldest of too many is acceptable.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def add(self, state: str) -> bool:
        """Mark a state as used; return False if it already was."""
        now = self._clock()
        while self._until and next(iter(self._until.values())) < now:
            self._until.pop(next(iter(self._until)))
        if state in self._until:
            return False
        if len(self._until) >= _MAX_USED:
            self._until.pop(next(iter(self._until)))
        self._until[state] = now + SIGN_IN_TIMEOUT_S + 1
        return True
