"""What an address that leads nowhere says."""

from html import escape

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from app.api.errors import error_answer
from components.theme import STYLESHEET_URL

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Nothing here · RL LAB</title><link rel="stylesheet" href="{stylesheet}"></head>
<body><main class="lab-page"><section class="lab-panel"><div class="lab-empty">
<a class="lab-brand" href="/">RL LAB // GYM MANAGER</a>
<p class="lab-name">There is nothing at {address}</p>
<p>Go to <a href="/train">Train</a> or to the list of <a href="/runs">runs</a>.</p>
</div></section></main></body></html>"""


def register(site: FastAPI) -> None:
    """Answer unknown addresses of pages in our own words."""

    @site.exception_handler(404)
    async def not_found(request: Request, _: Exception) -> Response:
        if request.url.path.startswith("/api/"):
            # With a line break in it an address below /api doesn't reach the API.
            return error_answer(404, "not_found", f"There is nothing at {request.url.path[:200]}.")
        page = _PAGE.format(stylesheet=STYLESHEET_URL, address=escape(request.url.path[:200]))
        return HTMLResponse(page, status_code=404)
