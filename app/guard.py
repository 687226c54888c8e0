"""The doors of the server: which names and origins may ask, how much, and what browsers may do."""

import asyncio
import json
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LARGEST_BODY = 1 << 20
_TOO_LARGE = f"The body is larger than {_LARGEST_BODY >> 20} MiB. Send less."
_BODY_WITHIN_S = 30.0
_TOO_SLOW = f"The body did not arrive within {_BODY_WITHIN_S:g} s. Send it again."
_READING = frozenset({"GET", "HEAD"})
_POLICY_VIOLATION = 1008

# NiceGUI's pages need inline scripts and `eval` (Vue templates); nothing comes from elsewhere.
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

_ONLY_HTTPS = (b"strict-transport-security", b"max-age=15552000")


class BodyTooLargeError(HTTPException):
    """A body went on beyond what is allowed.

    An HTTPException, because FastAPI calls every other error while it reads a body a 400.
    """

    def __init__(self) -> None:
        super().__init__(413, _TOO_LARGE)


class BodyTooSlowError(HTTPException):
    """A body did not arrive in time."""

    def __init__(self) -> None:
        super().__init__(408, _TOO_SLOW)


class Guard:
    """Pure ASGI, so that it sees WebSockets, too: Host, Origin, body size, security headers."""

    def __init__(
        self, inner: ASGIApp, *, hosts: Iterable[str], body_within_s: float = _BODY_WITHIN_S
    ) -> None:
        self._inner = inner
        self._hosts = frozenset(hosts)
        self._body_within_s = body_within_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it with what is wrong with it."""
        if scope["type"] not in {"http", "websocket"}:
            await self._inner(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if problem := self._problem(scope, headers):
            await _refuse(scope, receive, send, *problem)
            return
        try:
            is_http = scope["type"] == "http"
            counted = _counting(receive, self._body_within_s) if is_http else receive
            await self._inner(scope, counted, _hardening(scope, send))
        except BodyTooLargeError:
            await _refuse(scope, receive, send, 413, "too_large", _TOO_LARGE)
        except BodyTooSlowError:
            await _refuse(scope, receive, send, 408, "too_slow", _TOO_SLOW)

    def _problem(self, scope: Scope, headers: dict[bytes, str]) -> tuple[int, str, str] | None:
        host = headers.get(b"host", "").lower()
        if _without_port(host) not in self._hosts:
            return 403, "foreign_host", "This server isn't known under that name (RL_LAB_HOSTS)."
        origin = headers.get(b"origin")
        if origin is not None and _changes_something(scope) and not _is_same(origin, host):
            return 403, "foreign_origin", "Requests from other sites are refused."
        length = headers.get(b"content-length", "0")
        if not length.isdecimal() or int(length) > _LARGEST_BODY:
            return 413, "too_large", _TOO_LARGE
        return None


def _changes_something(scope: Scope) -> bool:
    """Whether a foreign page could do harm with it: all WebSockets, all but reading."""
    if scope["type"] == "websocket" or scope["path"].startswith("/_nicegui_ws"):
        return True
    return scope["method"] not in _READING


def _is_same(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin.lower()).netloc == host
    except ValueError:
        return False


def _without_port(host: str) -> str:
    """Take `name:8080`, `[::1]:8080` or a bare name apart."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _counting(receive: Receive, within_s: float) -> Receive:
    """Count what a body brings, and wait for its end no longer than for any."""
    received, is_whole = 0, False
    deadline = asyncio.get_running_loop().time() + within_s

    async def counted() -> Message:
        nonlocal received, is_whole
        try:
            async with asyncio.timeout_at(None if is_whole else deadline):
                message = await receive()
        except TimeoutError:
            raise BodyTooSlowError from None
        if message["type"] == "http.request":
            is_whole = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > _LARGEST_BODY:
                raise BodyTooLargeError
        return message

    return counted


def _hardening(scope: Scope, send: Send) -> Send:
    headers = [*_HEADERS, _ONLY_HTTPS] if scope.get("scheme") == "https" else _HEADERS

    async def hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *headers]
        await send(message)

    return hardened


async def _refuse(
    scope: Scope, receive: Receive, send: Send, status: int, code: str, sentence: str
) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": sentence})
        return
    body = json.dumps({"error": {"code": code, "message": sentence, "field": None}}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *_HEADERS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
