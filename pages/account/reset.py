"""`/reset`: set a new password with a code; a form that is sent as it is, without NiceGUI."""

from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.accounts.auth.passwords import LONGEST, SHORTEST
from app.accounts.requests import NewPassword
from app.core.errors import explain
from app.lab import Lab
from app.web.session_cookie import caller, give_cookie
from pages.plain import field, form, plain_page, submit
from storage.errors import LabError

_BACK = '<p class="lab-small"><a href="/login">Back to signing in</a></p>'


def register(site: FastAPI, lab: Lab) -> None:
    """Add the page to the site."""

    @site.get("/reset")
    async def reset_page(request: Request, code: str = "") -> Response:
        if not lab.accounts.is_on:
            return RedirectResponse("/", 303)
        return _page(request, code)

    @site.post("/reset")
    async def set_password(
        request: Request,
        code: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
    ) -> Response:
        try:
            token = await lab.accounts.resets.use(_read(code, password), caller(request))
        except LabError as error:
            return _page(request, code, error=error)
        answer = RedirectResponse("/", 303)
        give_cookie(answer, token, request)
        return answer


def _read(code: str, password: str) -> NewPassword:
    try:
        return NewPassword(code=code, password=password)
    except ValidationError as error:
        raise explain([dict(one) for one in error.errors()]) from None


def _page(request: Request, code: str, *, error: LabError | None = None) -> HTMLResponse:
    content = form(
        "Set a new password",
        "/reset",
        field("Code from an administrator", "code", value=code, autocomplete="off", required=""),
        field(
            f"New password (at least {SHORTEST} characters)",
            "password",
            type="password",
            autocomplete="new-password",
            minlength=str(SHORTEST),
            maxlength=str(LONGEST),
            required="",
            **{"autofocus": ""} if code else {},
        ),
        submit("Set password"),
        '<p class="lab-small">You are then signed out everywhere else.</p>',
        _BACK,
        error=str(error) if error else None,
    )
    return plain_page(request, "Set a new password", content, error=error)
