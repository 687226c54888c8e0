"""The cookie that a signed-in browser shows."""

from starlette.requests import HTTPConnection, cookie_parser
from starlette.responses import Response

from app.accounts.signing_in import SESSION_LASTS, Caller

_NAME = "lab_session"
_SHORT = "lab_elsewhere"
_SHORT_LASTS_S = 600


def give_cookie(response: Response, token: str, request: HTTPConnection) -> None:
    """Let a browser show `token` from now on; no script sees it, no other site sends it along."""
    response.set_cookie(
        _NAME,
        token,
        max_age=int(SESSION_LASTS.total_seconds()),
        path="/",
        httponly=True,
        samesite="lax",
        secure=request.url.scheme in {"https", "wss"},
    )


def take_cookie(response: Response, request: HTTPConnection) -> None:
    """Let a browser forget what it showed."""
    is_secure = request.url.scheme in {"https", "wss"}
    response.delete_cookie(_NAME, path="/", httponly=True, samesite="lax", secure=is_secure)


def read_cookie(header: str) -> str | None:
    """Return what a browser shows, from its header of cookies."""
    # Not SimpleCookie: it gives up at what other programs on this host may have set.
    return cookie_parser(header).get(_NAME)


def give_short_cookie(response: Response, value: str, request: HTTPConnection) -> None:
    """Let a browser show, when it comes back from elsewhere, that it is the one that left."""
    response.set_cookie(
        _SHORT,
        value,
        max_age=_SHORT_LASTS_S,
        path="/auth/",
        httponly=True,
        # Lax, not strict: the way back begins on another site.
        samesite="lax",
        secure=request.url.scheme in {"https", "wss"},
    )


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
