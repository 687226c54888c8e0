"""Who looks at a page."""

import re
from urllib.parse import parse_qs

from nicegui import Client, ui
from starlette.types import Scope

from app.accounts.errors import NotSignedInError
from app.accounts.visitors import Visitor


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


def _page_id(scope: Scope) -> str | None:
    """Return which page it belongs to; empty: that isn't said, though it should be."""
    path = str(scope["path"])
    if path.startswith("/_nicegui_ws"):
        query = parse_qs(str(scope.get("query_string", b""), "latin-1"))
        return query.get("client_id", [""])[0]
    found = re.match(r"/_nicegui/client/([^/]+)/", path)
    return found[1] if found else None
