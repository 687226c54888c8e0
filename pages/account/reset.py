"""`/reset`: set a new password with a code, in a plain HTML form without NiceGUI."""

from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.accounts import NewPassword
from app.accounts.auth import MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH
from app.core import input_error
from app.lab import Lab
from app.web.session_cookie import caller, set_session_cookie
from pages.plain import plain_page
from storage import LabError


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
        set_session_cookie(answer, token, request)
        return answer


def _read(code: str, password: str) -> NewPassword:
    try:
        return NewPassword(code=code, password=password)
    except ValidationError as error:
        raise input_error([dict(one) for one in error.errors()]) from None


def _page(request: Request, code: str, *, error: LabError | None = None) -> HTMLResponse:
    return plain_page(
        request,
        "Set a new password",
        "account/reset.html",
        error=error,
        code=code,
        shortest=MIN_PASSWORD_LENGTH,
        longest=MAX_PASSWORD_LENGTH,
    )
