"""Error pages: unknown URL, malformed request and server error."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from app.api.shared import error_answer
from pages.plain import own_path, plain_page


def register(site: FastAPI) -> None:
    """Add handlers that answer these errors with pages of the lab."""

    @site.exception_handler(404)
    async def not_found(request: Request, _: Exception) -> Response:
        if request.url.path.startswith("/api/"):
            # A URL below /api that contains a line break doesn't reach the API.
            return error_answer(404, "not_found", f"There is nothing at {request.url.path[:200]}.")
        address = request.url.path[:200]
        return plain_page(request, "Not found", "not_found.html", status=404, address=address)

    # FastAPI's own answers would expose Python's view of the request.
    @site.exception_handler(400)
    async def malformed(request: Request, _: Exception) -> Response:
        return _unreadable(request, 400)

    @site.exception_handler(RequestValidationError)
    async def invalid(request: Request, _: Exception) -> Response:
        return _unreadable(request, 422)

    # NiceGUI's own page would show the error message, which may contain server paths.
    @site.exception_handler(Exception)
    async def broken(request: Request, _: Exception) -> Response:
        return plain_page(request, "Something went wrong", "broken.html", status=500)


def _unreadable(request: Request, status: int) -> Response:
    address = own_path(request.url.path)
    return plain_page(request, "Bad request", "unreadable.html", status=status, address=address)
