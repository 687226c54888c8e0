"""What an address that leads nowhere says."""

from html import escape

from fastapi import FastAPI, Request
from fastapi.responses import Response

from app.api.errors import error_answer
from pages.plain import plain_page

_CONTENT = """<div class="lab-empty"><p class="lab-name">There is nothing at {address}</p>
<p>Go to <a href="/train">Train</a> or to the list of <a href="/runs">runs</a>.</p></div>"""


def register(site: FastAPI) -> None:
    """Answer unknown addresses of pages in our own words."""

    @site.exception_handler(404)
    async def not_found(request: Request, _: Exception) -> Response:
        if request.url.path.startswith("/api/"):
            # With a line break in it an address below /api doesn't reach the API.
            return error_answer(404, "not_found", f"There is nothing at {request.url.path[:200]}.")
        content = _CONTENT.format(address=escape(request.url.path[:200]))
        return plain_page(request, "Nothing here", content, status=404)
