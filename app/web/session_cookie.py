"""The cookie that a signed-in browser shows."""

from starlette.requests import HTTPConnection, cookie_parser
from starlette.responses import Response

from app.accounts.auth.openid import FINISHED_WITHIN_S
from app.accounts.auth.sign_in import SESSION_LASTS, Caller

_NAME = "lab_session"
_SAFE_NAME = "__Host-lab_session"
"""Over https: no other host, and nobody who speaks plain http, can plant one of this name."""
_SHORT = "lab_elsewhere"
_SECURE = frozenset({"https", "wss"})


def give_cookie(response: Response, token: str, request: HTTPConnection) -> None:
    """Let a browser show `token` from now on; no script sees it, no other site sends it along."""
    is_secure = request.url.scheme in _SECURE
    response.set_cookie(
        _SAFE_NAME if is_secure else _NAME,
        token,
        max_age=int(SESSION_LASTS.total_seconds()),
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_secure,
    )


def take_cookie(response: Response, request: HTTPConnection) -> None:
    """Let a browser forget what it showed."""
    is_secure = request.url.scheme in _SECURE
    name = _SAFE_NAME if is_secure else _NAME
    response.delete_cookie(name, path="/", httponly=True, samesite="lax", secure=is_secure)


def read_cookie(header: str, *, scheme: str) -> str | None:
    """Return what a browser shows, from its header of cookies."""
    # Not SimpleCookie: it gives up at what other programs on this host may have set.
    return cookie_parser(header).get(_SAFE_NAME if scheme in _SECURE else _NAME)


def give_short_cookie(response: Response, value: str, request: HTTPConnection) -> None:
    """Let a browser keep, encrypted, what it needs when it comes back from elsewhere."""
    response.set_cookie(
        _SHORT,
        value,
        max_age=FINISHED_WITHIN_S,
        path="/auth/",
        httponly=True,
        # Lax, not strict: the way back begins on another site.
        samesite="lax",
        secure=request.url.scheme in _SECURE,
    )


def take_short_cookie(response: Response, request: HTTPConnection) -> None:
    """Let a browser forget what it kept: it is used."""
    is_secure = request.url.scheme in _SECURE
    response.delete_cookie(_SHORT, path="/auth/", httponly=True, samesite="lax", secure=is_secure)


def read_short_cookie(request: HTTPConnection) -> str:
    """Return what `give_short_cookie` gave, or nothing."""
    return request.cookies.get(_SHORT, "")


def caller(request: HTTPConnection) -> Caller:
    """Say where a request to sign in comes from, and what it showed already."""
    visitor = request.scope["state"].get("visitor")
    return Caller(
        address=request.client.host if request.client else "",
        browser=request.headers.get("user-agent", "")[:200],
        shown=visitor.shown if visitor is not None and visitor.person is not None else None,
    )
