"""Plain HTML pages without NiceGUI, for forms of accounts and for errors."""

from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse

from app.core import templates
from components.shell import STYLESHEET_URL
from storage import LabError

_TEMPLATES = templates(Path(__file__).parent)


def plain_page(
    request: Request,
    title: str,
    template: str,
    *,
    status: int = 200,
    error: LabError | None = None,
    **values: object,
) -> HTMLResponse:
    """Return a page with one card, from a template in this folder."""
    common = {
        "title": title,
        "stylesheet": STYLESHEET_URL,
        "theme": request.cookies.get("theme"),
        "message": error,
    }
    page = _TEMPLATES.get_template(template).render({**common, **values})
    headers = {"Cache-Control": "no-store"}
    if error is not None and error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    return HTMLResponse(page, status_code=error.status if error else status, headers=headers)


def own_path(target: str) -> str:
    """Return the target if it is a path on this server, else `/`; prevents open redirects."""
    is_own = target.startswith("/") and not target.startswith(("//", "/\\"))
    is_clean = target.isprintable() and "\\" not in target
    return target if is_own and is_clean else "/"
