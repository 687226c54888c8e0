"""Cookies of sessions and of sign-ins with an external account."""

from starlette.requests import HTTPConnection, cookie_parser
from starlette.responses import Response

from app.accounts.auth import SESSION_LASTS, SIGN_IN_TIMEOUT_S, Caller

_NAME = "lab_session"
_SAFE_NAME = "__Host-lab_session"
"""For https: no other host and no plain http response can set a cookie with this prefix."""
_STATE_NAME = "lab_elsewhere"
_SECURE = frozenset({"https", "wss"})


def set_session_cookie(response: Response, token: str, request: HTTPConnection) -> None:
    """Set the session cookie; scripts can't read it, and requests of other sites lack it."""
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


def delete_session_cookie(response: Response, request: HTTPConnection) -> None:
    """Delete the session cookie."""
    is_secure = request.url.scheme in _SECURE
    name = _SAFE_NAME if is_secure else _NAME
    response.delete_cookie(name, path="/", httponly=True, samesite="lax", secure=is_secure)


def read_session_cookie(header: str, *, scheme: str) -> str | None:
    """Return the session token of a Cookie header."""
    # SimpleCookie would fail on cookies that other programs on this host may have set.
    return cookie_parser(header).get(_SAFE_NAME if scheme in _SECURE else _NAME)


def set_state_cookie(response: Response, value: str, request: HTTPConnection) -> None:
    """Set the cookie with the encrypted state of a sign-in at a provider."""
    response.set_cookie(
        _STATE_NAME,
        value,
        max_age=SIGN_IN_TIMEOUT_S,
        path="/auth/",
        httponly=True,
        # Lax, not strict: the provider's site redirects back to us.
        samesite="lax",
        secure=request.url.scheme in _SECURE,
    )


def delete_state_cookie(response: Response, request: HTTPConnection) -> None:
    """Delete the cookie with the state of a sign-in."""
    is_secure = request.url.scheme in _SECURE
    response.delete_cookie(
        _STATE_NAME, path="/auth/", httponly=True, samesite="lax", secure=is_secure
    )


def read_state_cookie(request: HTTPConnection) -> str:
    """Return the state of a sign-in, or an empty string."""
    return request.cookies.get(_STATE_NAME, "")


def caller(request: HTTPConnection) -> Caller:
    """Return the client of a sign-in request, with the session that it already has."""
    principal = request.scope["state"].get("principal")
    return Caller(
        address=request.client.host if request.client else "",
        browser=request.headers.get("user-agent", "")[:200],
        credential=principal.credential
        if principal is not None and principal.user is not None
        else None,
    )
