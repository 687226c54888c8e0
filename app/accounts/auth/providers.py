"""Where else people have accounts: OpenID Connect providers and GitHub, asked by Authlib."""

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

from app.accounts.errors import AccessError
from app.core.settings import Settings

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Signatures that only the provider can make: nothing with a shared secret, and never none."""
_GOOGLE = "https://accounts.google.com"
_LONGEST_SUBJECT = 255
"""As OpenID Connect has it; PostgreSQL would refuse to keep more."""
_WITHIN_S = 10.0
_LEEWAY_S = 60
_LATE: tuple[type[Exception], ...] = (httpx2.HTTPError, OSError, TimeoutError)
_WRONG: tuple[type[Exception], ...] = (
    AuthlibBaseError,
    JoseError,
    LookupError,
    TypeError,
    ValueError,
)

_log = logging.getLogger(__name__)


class ProviderError(AccessError):
    """The provider doesn't answer, or answers with something that proves nothing."""

    status = HTTPStatus.BAD_GATEWAY
    code = "provider_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who somebody is elsewhere."""

    issuer: str
    subject: str
    email: str | None
    """Only if the provider says that it is theirs."""
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """What a sign-in elsewhere must come back with."""

    state: str
    nonce: str
    verifier: str
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class Client:
    """What this server is to a provider."""

    id: str
    name: str
    address: str
    client_id: str
    client_secret: str = field(repr=False)

    def session(self, verify: ssl.SSLContext, *, scope: str, redirect_uri: str) -> Any:  # noqa: ANN401 - Authlib has no types
        """Begin to talk to the provider."""
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
    """Any issuer that speaks OpenID Connect and says so at its well-known address."""

    scope = "openid email profile"

    def __init__(self, client: Client) -> None:
        self.client = client
        self._metadata: Mapping[str, Any] | None = None
        self._verify: ssl.SSLContext | None = None

    async def sign_in_address(self, challenge: Challenge) -> str:
        """Return where somebody signs in.

        Raises:
            ProviderError: if the provider doesn't answer.
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
        """Return who came back with this code.

        Raises:
            ProviderError: if the provider doesn't answer, or its answer proves nothing.
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
        """Check who signed it, for whom, when, and in answer to which question."""
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
            ) as asking:
                found = (await asking.get(url)).raise_for_status().json()
            if str(found["issuer"]).rstrip("/") != self.client.address.rstrip("/"):
                raise ValueError("it calls itself by another name")
            self._metadata = found
        return self._metadata

    async def _session(self, challenge: Challenge) -> Any:  # noqa: ANN401 - Authlib has no types
        return self.client.session(
            await self._context(), scope=self.scope, redirect_uri=challenge.redirect_uri
        )

    async def _context(self) -> ssl.SSLContext:
        if self._verify is None:
            # It reads all certificates that are trusted, which takes its time.
            self._verify = await asyncio.to_thread(ssl.create_default_context)
        return self._verify


class GitHubProvider(OpenIdProvider):
    """GitHub, which has OAuth but no OpenID Connect: who it is, is asked of its API."""

    scope = "read:user user:email"

    async def identify(self, challenge: Challenge, code: str) -> Identity:
        """Return who came back with this code."""
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
            verified = [one["email"] for one in emails if one["primary"] and one["verified"]]
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
    """Return the providers that the settings name."""
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
    """Say what went wrong elsewhere, in words; the details are for the server's log."""
    try:
        yield
    except _LATE as error:
        _log.warning("%s does not answer: %r", client.name, error)
        raise ProviderError(f"{client.name} does not answer. Try again in a moment.") from error
    except _WRONG as error:
        _log.warning("%s proves nothing: %r", client.name, error)
        raise ProviderError(f"{client.name} did not prove who you are. Try again.") from error


def _identity(claims: Mapping[str, Any]) -> Identity:
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= _LONGEST_SUBJECT:
        raise ValueError("it names nobody")
    email = str(claims.get("email") or "").strip().lower()
    is_theirs = claims.get("email_verified") is True
    return Identity(
        issuer=str(claims["iss"]),
        subject=claims["sub"],
        email=email if email and is_theirs else None,
        name=str(claims.get("name") or email.partition("@")[0] or "somebody")[:100],
    )
