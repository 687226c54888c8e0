"""Authenticate every request, and end its open answers when its session ends."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.accounts import (
    NO_ACCOUNTS,
    AccessError,
    AccountsUnavailableError,
    ForbiddenError,
    NotSignedInError,
    Pass,
    Principal,
    ReadOnlyTokenError,
    UnknownProxyError,
    network_of,
)
from app.accounts.limits import OpenConnections, Rate
from app.accounts.users import Accounts
from app.web.early_responses import refuse_early, send_answer
from app.web.session_cookie import read_session_cookie
from storage import NotWrittenError
from storage.records import TokenScope

_PUBLIC = frozenset(
    {
        "/login",
        "/logout",
        "/register",
        "/reset",
        "/favicon.ico",
        "/theme.css",
        "/api/health",
        "/robots.txt",
    }
)
_PUBLIC_BELOW = ("/api/auth/", "/auth/")
_FONTS = ".woff2"
"""The only assets that pages without sign-in need; the others cost more to send."""
_NO_PAGES = ("/api/", "/_nicegui", "/assets/", "/theme.css", "/favicon.ico")
_FORWARDED = frozenset({b"x-forwarded-for", b"forwarded", b"x-real-ip"})
_READING = frozenset({"GET", "HEAD"})
_POLICY_VIOLATION = 1008
_MAX_STREAMS = 300
_MAX_CONCURRENT = 200
"""Concurrent answers to one user, or to all anonymous clients of one network."""
_STREAM = b"text/event-stream"
_NOT_STORED = (b"cache-control", b"no-store")


class Authentication:
    """Authenticates as pure ASGI, to cover WebSockets; without accounts all requests are served.

    `is_foreign` tests whether a request belongs to another user's open page.
    """

    def __init__(
        self,
        inner: ASGIApp,
        *,
        accounts: Accounts,
        is_foreign: Callable[[Scope, Principal], bool] | None = None,
        anonymous: Rate | None = None,
        users: Rate | None = None,
        pages: Rate | None = None,
    ) -> None:
        self._inner = inner
        self._accounts = accounts
        self._is_foreign = is_foreign
        # A class of students behind one router may open the login page at the same time.
        self._anonymous = anonymous or Rate(20, burst=300)
        self._users = users or Rate(50, burst=500)
        # A page costs as much event-loop time as a hundred API answers, and memory afterwards.
        self._pages = pages or Rate(1, burst=30)
        self._streams = OpenConnections(_MAX_STREAMS)
        self._concurrent = OpenConnections(_MAX_CONCURRENT)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request with its principal in `scope["state"]["principal"]`, or refuse it."""
        if scope["type"] not in {"http", "websocket"}:
            await self._inner(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        if not self._accounts.is_on:
            state["principal"] = NO_ACCOUNTS
            await self._serve_without_accounts(scope, receive, send)
            return
        try:
            credential = await self._authenticate(scope)
            principal = None if credential is None else Principal(credential, _address(scope))
            state["principal"] = principal
            with ExitStack() as counted:
                self._check(scope, principal, counted)
                await self._serve(scope, receive, _keeping_private(send), principal)
        except AccessError as error:
            await _refuse(scope, receive, send, error)

    async def _serve_without_accounts(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve without accounts: only the number of streams is limited."""
        try:
            if _came_through_proxy(scope):
                raise UnknownProxyError
            with ExitStack() as counted:
                if _is_stream(scope):
                    # Counted by type: pages need a WebSocket, however many streams are open.
                    key = (network_of(_address(scope)), scope["type"])
                    counted.enter_context(self._streams.counting(key))
                await self._inner(scope, receive, send)
        except AccessError as error:
            await _refuse(scope, receive, send, error)

    async def _authenticate(self, scope: Scope) -> Pass | None:
        """Return the pass for the token or cookie of a request, if it is valid.

        Raises:
            TooManyError: if this network sends too many requests without a known credential.
            AccountsUnavailableError: if the database can't be read.
        """
        passes = self._accounts.passes
        token, cookie = _secrets(scope)
        secret = token or cookie
        if secret is None or not passes.knows(secret):
            self._anonymous.take(network_of(_address(scope)))
        try:
            if token is not None:
                return await passes.of_token(token)
            return None if cookie is None else await passes.of_session(cookie)
        except NotWrittenError as error:
            raise AccountsUnavailableError(str(error)) from error

    def _check(self, scope: Scope, principal: Principal | None, counted: ExitStack) -> None:
        if principal is None:
            if not _is_public(scope["path"]):
                raise NotSignedInError
            counted.enter_context(self._concurrent.counting(network_of(_address(scope))))
            return
        if self._is_foreign is not None and self._is_foreign(scope, principal):
            raise ForbiddenError("This page belongs to another session. Reload it.")
        user_id = principal.me.id
        self._users.take(user_id)
        if _is_page_request(scope):
            self._pages.take(user_id)
        limit = self._streams if _is_stream(scope) else self._concurrent
        counted.enter_context(limit.counting(user_id))
        is_reading = scope["type"] == "websocket" or scope["method"] in _READING
        if principal.credential.scope is TokenScope.READ and not is_reading:
            raise ReadOnlyTokenError

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, principal: Principal | None
    ) -> None:
        if principal is None or _may_end_session(scope):
            await self._inner(scope, receive, send)
            return
        answer = _Answer(receive, send)
        with _ending_with(principal.credential) as ended:
            await self._inner(scope, receive, answer.send)
        if ended():
            await answer.close(scope)


def _keeping_private(send: Send) -> Send:
    """Keep answers out of shared caches such as a proxy's."""

    async def private(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message["headers"]}
            if b"cache-control" not in names:
                message["headers"] = [*message["headers"], (b"cache-control", b"private, no-cache")]
        await send(message)

    return private


class _Answer:
    """Tracks the progress of an answer, so that it can be ended properly."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._start: Message | None = None
        self._is_complete = False

    async def send(self, message: Message) -> None:
        if message["type"] in {"http.response.start", "websocket.accept"}:
            self._start = message
        elif message["type"] == "websocket.close" or (
            message["type"] == "http.response.body" and not message.get("more_body")
        ):
            self._is_complete = True
        await self._send(message)

    async def close(self, scope: Scope) -> None:
        if self._is_complete:
            return
        # Sending fails if the connection is already gone.
        with suppress(RuntimeError, OSError):
            if scope["type"] == "websocket":
                await self._send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            elif self._start is None:
                await _send_error(scope, self._receive, self._send, NotSignedInError())
            elif _STREAM in dict(self._start["headers"]).get(b"content-type", b""):
                await self._send({"type": "http.response.body", "body": b""})


@contextmanager
def _ending_with(credential: Pass) -> Iterator["_Ended"]:
    """Cancel the current task when the pass of its principal ends."""
    task = asyncio.current_task()
    assert task is not None
    ended = _Ended()

    def cancel() -> None:
        ended.is_set = True
        task.cancel()

    try:
        with credential.calling_at_end(cancel):
            yield ended
    except asyncio.CancelledError:
        if not ended.is_set or task.cancelling() > 1:
            raise
    finally:
        if ended.is_set:
            task.uncancel()


class _Ended:
    is_set = False

    def __call__(self) -> bool:
        return self.is_set


def _secrets(scope: Scope) -> tuple[str | None, str | None]:
    """Return the API token and the session cookie of a request, at most one of them."""
    headers = dict(scope["headers"])
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    if scope["path"].startswith("/api/") and authorization.lower().startswith("bearer "):
        return authorization[7:].strip(), None
    if scope["type"] == "websocket" and b"origin" not in headers:
        # Browsers always send an Origin with a WebSocket; programs must use a token.
        return None, None
    cookies = headers.get(b"cookie", b"").decode("latin-1")
    return None, read_session_cookie(cookies, scheme=scope["scheme"]) or None


def _is_public(path: str) -> bool:
    is_font = path.startswith("/assets/") and path.endswith(_FONTS)
    return path in _PUBLIC or path.startswith(_PUBLIC_BELOW) or is_font


def _came_through_proxy(scope: Scope) -> bool:
    return any(name in _FORWARDED for name, _ in scope["headers"])


def _may_end_session(scope: Scope) -> bool:
    """Whether a request is short and may end its own session: a write or a sign-in callback."""
    if scope["type"] != "http":
        return False
    return scope["method"] not in _READING or scope["path"].startswith("/auth/")


def _is_page_request(scope: Scope) -> bool:
    return scope["type"] == "http" and not scope["path"].startswith(_NO_PAGES)


def _is_stream(scope: Scope) -> bool:
    return scope["type"] == "websocket" or _is_event_stream(scope)


def _is_event_stream(scope: Scope) -> bool:
    return bool(scope["path"].startswith("/api/") and scope["path"].endswith("/stream"))


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


async def _refuse(scope: Scope, receive: Receive, send: Send, error: AccessError) -> None:
    if _may_redirect(scope) and isinstance(error, NotSignedInError):
        path, query = scope["path"], scope.get("query_string", b"").decode("latin-1")
        target = quote(f"{path}?{query}" if query else path)
        location = f"/login?next={target}" if path != "/" else "/login"
        await send_answer(send, 303, b"", [(b"location", location.encode()), _NOT_STORED])
        return
    await _send_error(scope, receive, send, error)


async def _send_error(scope: Scope, receive: Receive, send: Send, error: AccessError) -> None:
    headers = [_NOT_STORED]
    if error.retry_after_s is not None:
        headers.append((b"retry-after", str(error.retry_after_s).encode()))
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    answer = (error.status, error.code, str(error))
    await refuse_early(scope, receive, send, answer, headers, field=error.field)


def _may_redirect(scope: Scope) -> bool:
    is_read = scope["type"] == "http" and scope["method"] in _READING
    return is_read and not scope["path"].startswith(("/api/", "/_nicegui"))
