"""Who looks at a page."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import parse_qs

from nicegui import Client, ui
from socketio import AsyncServer  # type: ignore[import-untyped]  # it has no types
from starlette.types import Scope

from app.accounts.errors import NotSignedInError
from app.accounts.visitors import Visitor

_FRAMES = ("event", "javascript_response", "ack", "log")
_LONGEST_LOG = 1_000


def this_visitor() -> Visitor:
    """Return who asked for the page that is being made.

    Raises:
        NotSignedInError: if that is nobody; the gate lets no such request through.
    """
    request = ui.context.client.request
    visitor: Visitor | None = None if request is None else request.scope["state"].get("visitor")
    if visitor is None:
        raise NotSignedInError
    return visitor


def is_foreign(scope: Scope, visitor: Visitor) -> bool:
    """Whether a request belongs to a page that was opened with another session.

    To NiceGUI the page's id is proof enough; here the session has to be the same, too.
    """
    page_id = _page_id(scope)
    if page_id == "":
        return True
    client = Client.instances.get(page_id or "")
    if client is None or client.request is None:
        return False
    opener: Visitor | None = client.request.scope["state"].get("visitor")
    return opener is None or opener.shown is not visitor.shown


def bind_frames(sockets: AsyncServer) -> None:
    """Let a socket speak for the page that it was opened for, and for no other.

    NiceGUI believes the page's id in every frame; `is_foreign` sees only the one it opened with.
    """
    handlers = sockets.handlers["/"]
    for name in _FRAMES:
        handlers[name] = _for_own_page(sockets, handlers[name])


def _for_own_page(
    sockets: AsyncServer, handle: Callable[[str, dict[str, Any]], None]
) -> Callable[[str, dict[str, Any]], None]:
    @wraps(handle)
    def handle_own(sid: str, frame: dict[str, Any]) -> None:
        opened = sockets.get_environ(sid)
        if opened is None or _opened_for(opened["asgi.scope"]) != frame["client_id"]:
            return
        if "message" in frame:
            # It goes into the server's log, where it must not look like lines of its own.
            frame["message"] = ascii(frame["message"])[:_LONGEST_LOG]
        handle(sid, frame)

    return handle_own


def _page_id(scope: Scope) -> str | None:
    """Return which page it belongs to; empty: that isn't said, though it should be."""
    path = str(scope["path"])
    if path.startswith("/_nicegui_ws"):
        return _opened_for(scope)
    found = re.match(r"/_nicegui/client/([^/]+)/", path)
    return found[1] if found else None


def _opened_for(scope: Scope) -> str:
    """Return for which page a socket says that it is; the path may be without its beginning."""
    query = parse_qs(str(scope.get("query_string", b""), "latin-1"))
    return query.get("client_id", [""])[0]
