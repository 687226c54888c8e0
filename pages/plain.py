"""Pages without NiceGUI: for who isn't signed in, or where there is nothing."""

from html import escape

from fastapi import Request
from fastapi.responses import HTMLResponse

from components.shell.theme import STYLESHEET_URL
from storage.errors import LabError

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · RL LAB</title><link rel="stylesheet" href="{stylesheet}"></head>
<body class="{theme}">{as_the_system}<main class="lab-page is-narrow">
<a class="lab-brand" href="/">RL LAB // GYM MANAGER</a>
<section class="lab-panel" aria-label="{title}">{content}</section></main></body></html>"""
_AS_THE_SYSTEM = (
    "<script>document.body.classList.toggle('body--dark',"
    "matchMedia('(prefers-color-scheme: dark)').matches)</script>"
)


def plain_page(
    request: Request,
    title: str,
    content: str,
    *,
    status: int = 200,
    error: LabError | None = None,
) -> HTMLResponse:
    """Return a page with one card; `content` is HTML, in which every value is escaped."""
    theme = request.cookies.get("theme")
    page = _PAGE.format(
        title=escape(title),
        stylesheet=STYLESHEET_URL,
        theme="body--dark" if theme == "dark" else "",
        as_the_system=_AS_THE_SYSTEM if theme == "auto" else "",
        content=content,
    )
    headers = {"Cache-Control": "no-store"}
    if error is not None and error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    return HTMLResponse(page, status_code=error.status if error else status, headers=headers)


def form(title: str, action: str, *parts: str, error: str | None = None) -> str:
    """Return a form that is sent as it is, so that password managers understand it."""
    said = f'<p class="lab-error" role="alert">{escape(error)}</p>' if error else ""
    return (
        f'<form class="lab-plain-form" method="post" action="{escape(action)}">'
        f'<h1 class="lab-label">{escape(title)}</h1>{said}{"".join(parts)}</form>'
    )


def field(label: str, name: str, **attributes: str) -> str:
    """Return a labelled input."""
    said = " ".join(f'{key}="{escape(value)}"' for key, value in attributes.items())
    return (
        f'<label class="lab-field"><span>{escape(label)}</span><input name="{name}" {said}></label>'
    )


def hidden(name: str, value: str) -> str:
    """Return a value that travels with the form."""
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'


def submit(text: str) -> str:
    """Return the button that sends the form."""
    return f'<button class="lab-button lab-primary" type="submit">{escape(text)}</button>'


def own_path(target: str) -> str:
    """Return where to go after signing in: a page of this server, and never another's."""
    is_own = target.startswith("/") and not target.startswith(("//", "/\\"))
    is_clean = target.isprintable() and "\\" not in target
    return target if is_own and is_clean else "/"
