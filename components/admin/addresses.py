"""Where the server is, as the browser of whoever looks knows it."""

from nicegui import ui


def this_server() -> str:
    """Return the beginning of every address of this server."""
    request = ui.context.client.request
    return "" if request is None else f"{request.url.scheme}://{request.url.netloc}"
