"""Who looks at a page."""

from nicegui import ui

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
