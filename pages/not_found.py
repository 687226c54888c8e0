"""What an address that leads nowhere says, a form nobody can read, and a page that broke."""

from html import escape

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from app.api.shared.errors import error_answer
from pages.plain import plain_page

_CONTENT = """<div class="lab-empty"><p class="lab-name">There is nothing at {address}</p>
<p>Go <a href="/">home</a>, to <a href="/train">Train</a> or to the list of
<a href="/runs">runs</a>.</p></div>"""

_UNREADABLE = """<div class="lab-empty"><p class="lab-name">What was sent can't be read</p>
<p>Go to <a href="{address}">the page</a> and send it again from there.</p></div>"""

_BROKEN = """<div class="lab-empty"><p class="lab-name">Something went wrong on the server</p>
<p>Its log says what. Load the page again, or go to the list of <a href="/runs">runs</a>.</p>
</div>"""


def register(site: FastAPI) -> None:
    """Answer unknown addresses, unreadable forms and unforeseen errors in our own words."""

    @site.exception_handler(404)
    async def not_found(request: Request, _: Exception) -> Response:
        if request.url.path.startswith("/api/"):
            # With a line break in it an address below /api doesn't reach the API.
            return error_answer(404, "not_found", f"There is nothing at {request.url.path[:200]}.")
        content = _CONTENT.format(address=escape(request.url.path[:200]))
        return plain_page(request, "Nothing here", content, status=404)

    # FastAPI's own answers would show how Python sees what was sent.
    @site.exception_handler(400)
    async def malformed(request: Request, _: Exception) -> Response:
        return _unreadable(request, 400)

    @site.exception_handler(RequestValidationError)
    async def invalid(request: Request, _: Exception) -> Response:
        return _unreadable(request, 422)

    # NiceGUI's own page would show what the error says, which may name files of the server.
    @site.exception_handler(Exception)
    async def broken(request: Request, _: Exception) -> Response:
        return plain_page(request, "Something went wrong", _BROKEN, status=500)


def _unreadable(request: Request, status: int) -> Response:
    content = _UNREADABLE.format(address=escape(request.url.path))
    return plain_page(request, "Not readable", content, status=status)
