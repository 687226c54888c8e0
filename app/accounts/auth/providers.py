"""External sign-in providers: OpenID Connect and GitHub, through Authlib."""

import asyncio
import logging
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from app.accounts import AccessError
from app.core import Settings

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Asymmetric signatures only: no shared secrets (HS256), and never `none`."""
_GOOGLE = "https://accounts.google.com"
_LONGEST_SUBJECT = 255
"""Limit of OpenID Connect; PostgreSQL would refuse to store more."""
_WITHIN_S = 10.0
_LEEWAY_S = 60
_UNREACHABLE: tuple[type[Exception], ...] = (httpx2.HTTPError, OSError, TimeoutError)
_INVALID: tuple[type[Exception], ...] = (
    AuthlibBaseError,
    JoseError,
    LookupError,
    TypeError,
    ValueError,
)

_log = logging.getLogger(__name__)


class ProviderError(AccessError):
    """The provider does not respond, or its answer does not prove an identity."""

    status = HTTPStatus.BAD_GATEWAY
    code = "provider_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A user's identity at a provider."""

    issuer: str
    subject: str
    email: str | None
    """Only if the provider has verified it."""
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """The values that protect one sign-in at a provider against forgery and replay."""

    state: str
    nonce: str
    verifier: str
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class Client:
    """This server as a client of a provider."""

    id: str
    name: str
    address: str
    client_id: str
    client_secret: str = field(repr=False)

    def session(self, verify: ssl.SSLContext, *, scope: str, redirect_uri: str) -> Any:  # noqa: ANN401 - Authlib has no types
        """Return an OAuth session with the provider."""
        return AsyncOAuth2Client(
            self.client_id,
            self.client_secret,
            scope=scope,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            verify=verify,
            timeout=_WITHIN_S,
        )


class OpenIdProvider:
    """An OpenID Connect issuer with a discovery document at the well-known address."""

    scope = "openid email profile"

    def __init__(self, client: Client) -> None:
        self.client = client
        self._metadata: Mapping[str, Any] | None = None
        self._verify: ssl.SSLContext | None = None

    async def sign_in_address(self, challenge: Challenge) -> str:
        """Return the provider's address for signing in.

        Raises:
            ProviderError: if the provider does not respond.
        """
        with _naming(self.client):
            metadata = await self._read_metadata()
            session = await self._session(challenge)
            async with session:
                url, _ = session.create_authorization_url(
                    metadata["authorization_endpoint"],
                    state=challenge.state,
                    code_verifier=challenge.verifier,
                    nonce=challenge.nonce,
                )
        return str(url)

    async def identify(self, challenge: Challenge, code: str) -> Identity:
        """Return the identity for the code of a callback.

        Raises:
            ProviderError: if the provider does not respond, or its answer is not valid.
        """
        with _naming(self.client):
            metadata = await self._read_metadata()
            async with await self._session(challenge) as session:
                token = await session.fetch_token(
                    metadata["token_endpoint"], code=code, code_verifier=challenge.verifier
                )
                found = await session.request("GET", metadata["jwks_uri"], withhold_token=True)
            keys = found.raise_for_status().json()
            claims = self._checked(token, keys, str(metadata["issuer"]), challenge.nonce)
            return _identity(claims)

    def _checked(
        self,
        token: Mapping[str, Any],
        keys: Any,  # noqa: ANN401 - JSON
        issuer: str,
        nonce: str,
    ) -> Mapping[str, Any]:
        """Return the claims of an ID token after checking signature, audience, time and nonce."""
        decoded = jwt.decode(token["id_token"], KeySet.import_key_set(keys), algorithms=_ALGORITHMS)
        options = {
            "iss": {"essential": True, "value": issuer},
            "aud": {"essential": True, "value": self.client.client_id},
            "nonce": {"essential": True, "value": nonce},
        }
        expected = {"nonce": nonce, "client_id": self.client.client_id}
        claims = CodeIDToken(decoded.claims, decoded.header, options, expected)
        claims.validate(leeway=_LEEWAY_S)
        return dict(claims)

    async def _read_metadata(self) -> Mapping[str, Any]:
        if self._metadata is None:
            url = f"{self.client.address.rstrip('/')}/.well-known/openid-configuration"
            async with httpx2.AsyncClient(
                verify=await self._context(), timeout=_WITHIN_S
            ) as client:
                found = (await client.get(url)).raise_for_status().json()
            if str(found["issuer"]).rstrip("/") != self.client.address.rstrip("/"):
                raise ValueError("the discovery document names another issuer")
            self._metadata = found
        return self._metadata

    async def _session(self, challenge: Challenge) -> Any:  # noqa: ANN401 - Authlib has no types
        return self.client.session(
            await self._context(), scope=self.scope, redirect_uri=challenge.redirect_uri
        )

    async def _context(self) -> ssl.SSLContext:
        if self._verify is None:
            # Loading all trusted certificates is slow, so it runs on a thread.
            self._verify = await asyncio.to_thread(ssl.create_default_context)
        return self._verify


class GitHubProvider(OpenIdProvider):
    """GitHub, which has OAuth but no OpenID Connect: its API returns the identity."""

    scope = "read:user user:email"

    async def identify(self, challenge: Challenge, code: str) -> Identity:
        """Return the identity for the code of a callback."""
        metadata = await self._read_metadata()
        with _naming(self.client):
            async with await self._session(challenge) as session:
                await session.fetch_token(
                    metadata["token_endpoint"],
                    code=code,
                    code_verifier=challenge.verifier,
                    headers={"Accept": "application/json"},
                )
                user = (await session.get(f"{metadata['api']}/user")).raise_for_status().json()
                emails = (await session.get(f"{metadata['api']}/user/emails")).json()
            verified = [mail["email"] for mail in emails if mail["primary"] and mail["verified"]]
            return Identity(
                issuer=self.client.address,
                subject=str(user["id"]),
                email=verified[0].lower() if verified else None,
                name=str(user.get("name") or user["login"])[:100],
            )

    async def _read_metadata(self) -> Mapping[str, Any]:
        address = self.client.address.rstrip("/")
        is_public = address == "https://github.com"
        return {
            "authorization_endpoint": f"{address}/login/oauth/authorize",
            "token_endpoint": f"{address}/login/oauth/access_token",
            "api": "https://api.github.com" if is_public else f"{address}/api/v3",
        }


def providers_of(settings: Settings) -> tuple[OpenIdProvider, ...]:
    """Return the configured providers."""
    found: list[OpenIdProvider] = []
    if settings.github_id:
        key = (settings.github_id, settings.github_secret)
        found.append(GitHubProvider(Client("github", "GitHub", settings.github_url, *key)))
    if settings.google_id:
        key = (settings.google_id, settings.google_secret)
        found.append(OpenIdProvider(Client("google", "Google", _GOOGLE, *key)))
    if settings.oidc_issuer:
        key = (settings.oidc_id, settings.oidc_secret)
        found.append(OpenIdProvider(Client("oidc", settings.oidc_name, settings.oidc_issuer, *key)))
    return tuple(found)


@contextmanager
def _naming(client: Client) -> Iterator[None]:
    """Convert errors of a provider to a `ProviderError`; details only go to the log."""
    try:
        yield
    except _UNREACHABLE as error:
        _log.warning("%s does not answer: %r", client.name, error)
        raise ProviderError(f"{client.name} does not answer. Try again in a moment.") from error
    except _INVALID as error:
        _log.warning("%s sent an invalid answer: %r", client.name, error)
        raise ProviderError(f"{client.name} could not verify your identity. Try again.") from error


def _identity(claims: Mapping[str, Any]) -> Identity:
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= _LONGEST_SUBJECT:
        raise ValueError("the subject is missing or too long")
    email = str(claims.get("email") or "").strip().lower()
    is_verified = claims.get("email_verified") is True
    return Identity(
        issuer=str(claims["iss"]),
        subject=claims["sub"],
        email=email if email and is_verified else None,
        name=str(claims.get("name") or email.partition("@")[0] or "unnamed")[:100],
    )
