"""The principal behind a page, and checks that a request belongs to its page."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import parse_qs

from nicegui import Client, ui
from socketio import AsyncServer  # type: ignore[import-untyped]  # it has no types
from starlette.types import Scope

from app.accounts import NotSignedInError, Principal

_MESSAGES = ("event", "javascript_response", "ack", "log")
_LONGEST_LOG = 1_000


def this_principal() -> Principal:
    """Return the principal that requested the page that is being built.

    Raises:
        NotSignedInError: if there is none; authentication rejects such requests earlier.
    """
    request = ui.context.client.request
    principal: Principal | None = (
        None if request is None else request.scope["state"].get("principal")
    )
    if principal is None:
        raise NotSignedInError
    return principal


def is_foreign(scope: Scope, principal: Principal) -> bool:
    """Whether a request is for a page that was opened with another session.

    NiceGUI checks only the page's id; this also requires the same session.
    """
    page_id = _page_id(scope)
    if page_id == "":
        return True
    client = Client.instances.get(page_id or "")
    if client is None or client.request is None:
        return False
    opener: Principal | None = client.request.scope["state"].get("principal")
    return opener is None or opener.credential is not principal.credential


def bind_sockets(sockets: AsyncServer) -> None:
    """Drop messages of a socket for any page but the one that it was opened for.

    NiceGUI trusts the page's id in every message; `is_foreign` checks only the one at opening.
    """
    handlers = sockets.handlers["/"]
    for name in _MESSAGES:
        handlers[name] = _check_page(sockets, handlers[name])


def _check_page(
    sockets: AsyncServer, handle: Callable[[str, dict[str, Any]], None]
) -> Callable[[str, dict[str, Any]], None]:
    @wraps(handle)
    def handle_checked(sid: str, message: dict[str, Any]) -> None:
        environ = sockets.get_environ(sid)
        if environ is None or _page_id_in_query(environ["asgi.scope"]) != message["client_id"]:
            return
        if "message" in message:
            # It goes to the server's log, where it must not span several lines.
            message["message"] = ascii(message["message"])[:_LONGEST_LOG]
        handle(sid, message)

    return handle_checked


def _page_id(scope: Scope) -> str | None:
    """Return the id of the page of a request: None without page, empty if its id is missing."""
    path = str(scope["path"])
    if path.startswith("/_nicegui_ws"):
        return _page_id_in_query(scope)
    match = re.match(r"/_nicegui/client/([^/]+)/", path)
    return match[1] if match else None


def _page_id_in_query(scope: Scope) -> str:
    """Return the page id in the query of a socket's URL, or an empty text."""
    query = parse_qs(str(scope.get("query_string", b""), "latin-1"))
    return query.get("client_id", [""])[0]
