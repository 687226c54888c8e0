"""The gate behind the doors: who asks, whether they may come in, and when they have to leave."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.accounts.addresses import network_of
from app.accounts.errors import (
    AccessError,
    ForbiddenError,
    NotNowError,
    NotSignedInError,
    ReadOnlyTokenError,
    UnknownProxyError,
)
from app.accounts.limits.rates import OpenStreams, Rate
from app.accounts.users.accounts import Accounts
from app.accounts.visitors import NO_ACCOUNTS, Pass, Visitor
from app.web.early_responses import refuse_early, send_answer
from app.web.session_cookie import read_cookie
from storage.errors import NotWrittenError
from storage.records.accounts import TokenScope

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
"""Of our files the only ones that the pages of strangers need; the others cost more to send."""
_NO_PAGES = ("/api/", "/_nicegui", "/assets/", "/theme.css", "/favicon.ico")
_FORWARDED = frozenset({b"x-forwarded-for", b"forwarded", b"x-real-ip"})
_READING = frozenset({"GET", "HEAD"})
_POLICY_VIOLATION = 1008
_MOST_STREAMS = 300
_MOST_AT_ONCE = 200
"""Answers that one person, or the strangers of one address, take their time to read."""
_STREAM = b"text/event-stream"
_NOT_STORED = (b"cache-control", b"no-store")


class Authentication:
    """Pure ASGI, so that it sees WebSockets, too; without accounts everybody comes in.

    `is_foreign` says whether a request belongs to a page that somebody else has open.
    """

    def __init__(
        self,
        inner: ASGIApp,
        *,
        accounts: Accounts,
        is_foreign: Callable[[Scope, Visitor], bool] | None = None,
        strangers: Rate | None = None,
        people: Rate | None = None,
        pages: Rate | None = None,
    ) -> None:
        self._inner = inner
        self._accounts = accounts
        self._is_foreign = is_foreign
        # A class behind one router that opens the login page at once has to come in.
        self._strangers = strangers or Rate(20, burst=300)
        self._people = people or Rate(50, burst=500)
        # A page costs the event loop as much as a hundred answers of the API, and memory after it.
        self._pages = pages or Rate(1, burst=30)
        self._streams = OpenStreams(_MOST_STREAMS)
        self._at_once = OpenStreams(_MOST_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through with who asks in `scope["state"]["visitor"]`, or answer it."""
        if scope["type"] not in {"http", "websocket"}:
            await self._inner(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        if not self._accounts.is_on:
            state["visitor"] = NO_ACCOUNTS
            await self._let_anybody_in(scope, receive, send)
            return
        try:
            shown = await self._shown(scope)
            visitor = None if shown is None else Visitor(shown, _address(scope))
            state["visitor"] = visitor
            with ExitStack() as held:
                self._check(scope, visitor, held)
                await self._serve(scope, receive, _keeping_private(send), visitor)
        except AccessError as error:
            await _refuse(scope, receive, send, error)

    async def _let_anybody_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve who has no account: as much as they like, but no crowd of streams."""
        try:
            if _came_through_proxy(scope):
                raise UnknownProxyError
            with ExitStack() as held:
                if _is_stream(scope):
                    # Each kind for itself: pages need a WebSocket, however many streams are open.
                    counted_as = (network_of(_address(scope)), scope["type"])
                    held.enter_context(self._streams.one_more(counted_as))
                await self._inner(scope, receive, send)
        except AccessError as error:
            await _refuse(scope, receive, send, error)

    async def _shown(self, scope: Scope) -> Pass | None:
        """Return the pass that a token or a cookie stands for.

        Raises:
            TooManyError: if this address asks too often as nobody, or shows what nobody knows.
            NotNowError: if the database can't say.
        """
        passes = self._accounts.passes
        token, cookie = _secrets(scope)
        shown = token or cookie
        if shown is None or not passes.knows(shown):
            self._strangers.take(network_of(_address(scope)))
        try:
            if token is not None:
                return await passes.of_token(token)
            return None if cookie is None else await passes.of_session(cookie)
        except NotWrittenError as error:
            raise NotNowError(str(error)) from error

    def _check(self, scope: Scope, visitor: Visitor | None, held: ExitStack) -> None:
        if visitor is None:
            if not _is_public(scope["path"]):
                raise NotSignedInError
            held.enter_context(self._at_once.one_more(network_of(_address(scope))))
            return
        if self._is_foreign is not None and self._is_foreign(scope, visitor):
            raise ForbiddenError("This page was opened by somebody else. Load it again.")
        person_id = visitor.me.id
        self._people.take(person_id)
        if _asks_for_page(scope):
            self._pages.take(person_id)
        counted = self._streams if _is_stream(scope) else self._at_once
        held.enter_context(counted.one_more(person_id))
        is_reading = scope["type"] == "websocket" or scope["method"] in _READING
        if visitor.shown.scope is TokenScope.READ and not is_reading:
            raise ReadOnlyTokenError

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, visitor: Visitor | None
    ) -> None:
        if visitor is None or _may_end_itself(scope):
            await self._inner(scope, receive, send)
            return
        answer = _Answer(receive, send)
        with _ending_with(visitor.shown) as ended:
            await self._inner(scope, receive, answer.send)
        if ended():
            await answer.close(scope)


def _keeping_private(send: Send) -> Send:
    """Keep what one person may see out of what others are given by a proxy that remembers."""

    async def private(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message["headers"]}
            if b"cache-control" not in names:
                message["headers"] = [*message["headers"], (b"cache-control", b"private, no-cache")]
        await send(message)

    return private


class _Answer:
    """Remembers how far an answer has come, to end it in good order."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._begun: Message | None = None
        self._is_over = False

    async def send(self, message: Message) -> None:
        if message["type"] in {"http.response.start", "websocket.accept"}:
            self._begun = message
        elif message["type"] == "websocket.close" or (
            message["type"] == "http.response.body" and not message.get("more_body")
        ):
            self._is_over = True
        await self._send(message)

    async def close(self, scope: Scope) -> None:
        if self._is_over:
            return
        # A connection that is gone has nothing to be closed.
        with suppress(RuntimeError, OSError):
            if scope["type"] == "websocket":
                await self._send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            elif self._begun is None:
                await _tell(scope, self._receive, self._send, NotSignedInError())
            elif _STREAM in dict(self._begun["headers"]).get(b"content-type", b""):
                await self._send({"type": "http.response.body", "body": b""})


@contextmanager
def _ending_with(shown: Pass) -> Iterator["_Ended"]:
    """Cancel the task that serves a visitor when they are signed out."""
    task = asyncio.current_task()
    assert task is not None
    ended = _Ended()

    def cancel() -> None:
        ended.is_so = True
        task.cancel()

    try:
        with shown.telling(cancel):
            yield ended
    except asyncio.CancelledError:
        if not ended.is_so or task.cancelling() > 1:
            raise
    finally:
        if ended.is_so:
            task.uncancel()


class _Ended:
    is_so = False

    def __call__(self) -> bool:
        return self.is_so


def _secrets(scope: Scope) -> tuple[str | None, str | None]:
    """Return what a program shows, or else what a browser shows."""
    headers = dict(scope["headers"])
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    if scope["path"].startswith("/api/") and authorization.lower().startswith("bearer "):
        return authorization[7:].strip(), None
    if scope["type"] == "websocket" and b"origin" not in headers:
        # Every browser says where a WebSocket comes from; a program has a token.
        return None, None
    cookies = headers.get(b"cookie", b"").decode("latin-1")
    return None, read_cookie(cookies, scheme=scope["scheme"]) or None


def _is_public(path: str) -> bool:
    is_font = path.startswith("/assets/") and path.endswith(_FONTS)
    return path in _PUBLIC or path.startswith(_PUBLIC_BELOW) or is_font


def _came_through_proxy(scope: Scope) -> bool:
    return any(name in _FORWARDED for name, _ in scope["headers"])


def _may_end_itself(scope: Scope) -> bool:
    """Whether it is short and may end its own session: what writes, and the way back to sign in."""
    if scope["type"] != "http":
        return False
    return scope["method"] not in _READING or scope["path"].startswith("/auth/")


def _asks_for_page(scope: Scope) -> bool:
    return scope["type"] == "http" and not scope["path"].startswith(_NO_PAGES)


def _is_stream(scope: Scope) -> bool:
    return scope["type"] == "websocket" or _asks_for_stream(scope)


def _asks_for_stream(scope: Scope) -> bool:
    return bool(scope["path"].startswith("/api/") and scope["path"].endswith("/stream"))


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


async def _refuse(scope: Scope, receive: Receive, send: Send, error: AccessError) -> None:
    if _is_page(scope) and isinstance(error, NotSignedInError):
        path, query = scope["path"], scope.get("query_string", b"").decode("latin-1")
        target = quote(f"{path}?{query}" if query else path)
        location = f"/login?next={target}" if path != "/" else "/login"
        await send_answer(send, 303, b"", [(b"location", location.encode()), _NOT_STORED])
        return
    await _tell(scope, receive, send, error)


async def _tell(scope: Scope, receive: Receive, send: Send, error: AccessError) -> None:
    headers = [_NOT_STORED]
    if error.retry_after_s is not None:
        headers.append((b"retry-after", str(error.retry_after_s).encode()))
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    told = (error.status, error.code, str(error))
    await refuse_early(scope, receive, send, told, headers, field=error.field)


def _is_page(scope: Scope) -> bool:
    is_read = scope["type"] == "http" and scope["method"] in _READING
    return is_read and not scope["path"].startswith(("/api/", "/_nicegui"))
