"""The server's URL as the browser sees it."""

from nicegui import ui


def server_url() -> str:
    """Return scheme and host of the page's request, the start of every URL of this server."""
    request = ui.context.client.request
    return "" if request is None else f"{request.url.scheme}://{request.url.netloc}"
