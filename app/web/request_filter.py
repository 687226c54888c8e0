"""Check Host, Origin and size of every request; add security headers to every answer."""

import asyncio
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.early_responses import refuse_early

_LARGEST_BODY = 1 << 20
_LARGEST_FORM = 16 << 10
"""Limit for forms that need no sign-in: parsing a form of 1 MiB would block the event loop."""
_LARGEST_BUNDLE = 512 << 20
_BUNDLES = "/api/runs/import"
_FORMS = ("/login", "/logout", "/register", "/reset", "/auth/", "/api/auth/")
_BODY_WITHIN_S = 30.0
_BUNDLE_WITHIN_S = 1_800.0
_TOO_SLOW = "The body did not arrive in time. Send it again."
_READING = frozenset({"GET", "HEAD"})
_HOST = re.compile(r"(\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[\w.-]+))(:\d{1,5})?", re.ASCII)
_OTHER_ORIGINS = frozenset({"cross-site", "same-site"})
"""Includes same-site, which may be another port of this machine."""
_NAVIGATION = ("navigate", "document")

# NiceGUI's pages need inline scripts and `eval` (Vue templates); all sources are our own.
_CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data: blob:",
        "media-src 'self' blob:",
        "font-src 'self' data:",
        "worker-src 'self' blob:",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = [
    (b"content-security-policy", _CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

_REFUSED_HEADERS = [(b"connection", b"close"), *_HEADERS]
_ONLY_HTTPS = (b"strict-transport-security", b"max-age=15552000")


class BodyTooLargeError(HTTPException):
    """A body exceeds its size limit.

    An HTTPException, because FastAPI turns every other error while reading a body into a 400.
    """

    def __init__(self, largest: int) -> None:
        super().__init__(413, _too_large(largest))


class BodyTooSlowError(HTTPException):
    """A body did not arrive in time."""

    def __init__(self) -> None:
        super().__init__(408, _TOO_SLOW)


class RequestFilter:
    """Filters as pure ASGI, to cover WebSockets: Host, Origin, body size, security headers."""

    def __init__(
        self, inner: ASGIApp, *, hosts: Iterable[str], body_within_s: float = _BODY_WITHIN_S
    ) -> None:
        self._inner = inner
        self._hosts = frozenset(hosts)
        self._body_within_s = body_within_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in {"http", "websocket"}:
            await self._inner(scope, receive, send)
            return
        if problem := self._problem(scope):
            await refuse_early(scope, receive, send, problem, _REFUSED_HEADERS)
            return
        try:
            is_http = scope["type"] == "http"
            largest = _largest_body(scope)
            within_s = _BUNDLE_WITHIN_S if scope["path"] == _BUNDLES else self._body_within_s
            limited = _limiting(receive, within_s, largest) if is_http else receive
            await self._inner(scope, limited, _hardening(scope, send))
        except BodyTooLargeError as error:
            too_large = (413, "too_large", error.detail)
            await refuse_early(scope, receive, send, too_large, _REFUSED_HEADERS)
        except BodyTooSlowError:
            too_slow = (408, "too_slow", _TOO_SLOW)
            await refuse_early(scope, receive, send, too_slow, _REFUSED_HEADERS)

    def _problem(self, scope: Scope) -> tuple[int, str, str] | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "").lower()
        # With two Host headers, later code could use the one that is not checked here.
        is_single = sum(name == b"host" for name, _ in scope["headers"]) == 1
        if not is_single or _without_port(host) not in self._hosts:
            return (
                403,
                "foreign_host",
                "This host name is not configured for the server (RL_LAB_HOSTS).",
            )
        if _is_cross_origin(scope, headers, host):
            return 403, "foreign_origin", "Requests from other sites are refused."
        length, largest = headers.get(b"content-length", "0"), _largest_body(scope)
        if not length.isdecimal() or int(length) > largest:
            return 413, "too_large", _too_large(largest)
        return None


def _largest_body(scope: Scope) -> int:
    if scope["path"] == _BUNDLES:
        return _LARGEST_BUNDLE
    return _LARGEST_FORM if scope["path"].startswith(_FORMS) else _LARGEST_BODY


def _too_large(largest: int) -> str:
    size = f"{largest >> 20} MiB" if largest >> 20 else f"{largest >> 10} KiB"
    return f"The body is larger than {size}. Send less."


def _is_cross_origin(scope: Scope, headers: dict[bytes, str], host: str) -> bool:
    """Whether another site's page sends the request; following a link from there is allowed."""
    origin = headers.get(b"origin")
    if origin is not None and _changes_something(scope) and not _is_same(origin, host):
        return True
    is_link = (headers.get(b"sec-fetch-mode"), headers.get(b"sec-fetch-dest")) == _NAVIGATION
    return headers.get(b"sec-fetch-site") in _OTHER_ORIGINS and not is_link


def _changes_something(scope: Scope) -> bool:
    """Whether a request can have side effects: every WebSocket, and all but GET and HEAD."""
    if scope["type"] == "websocket" or scope["path"].startswith("/_nicegui_ws"):
        return True
    return scope["method"] not in _READING


def _is_same(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin.lower()).netloc == host
    except ValueError:
        return False


def _without_port(host: str) -> str:
    """Return the host of `name:8080`, `[::1]:8080` or a bare name; empty if malformed."""
    found = _HOST.fullmatch(host)
    return (found["six"] or found["name"]) if found else ""


def _limiting(receive: Receive, within_s: float, largest: int) -> Receive:
    """Limit the size of a body, and the time until all of it has arrived."""
    received, is_whole = 0, False
    deadline = asyncio.get_running_loop().time() + within_s

    async def limited() -> Message:
        nonlocal received, is_whole
        try:
            async with asyncio.timeout_at(None if is_whole else deadline):
                message = await receive()
        except TimeoutError:
            raise BodyTooSlowError from None
        if message["type"] == "http.request":
            is_whole = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > largest:
                raise BodyTooLargeError(largest)
        return message

    return limited


def _hardening(scope: Scope, send: Send) -> Send:
    headers = [*_HEADERS, _ONLY_HTTPS] if scope.get("scheme") == "https" else _HEADERS

    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *headers]
        await send(message)

    return hardened
