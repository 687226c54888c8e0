"""`/login` and `/logout`: plain HTML forms without NiceGUI."""

from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.accounts import Credentials, WrongCredentialsError
from app.lab import Lab
from app.web.session_cookie import caller, delete_session_cookie, set_session_cookie
from pages.plain import own_path, plain_page
from storage import LabError


def register(site: FastAPI, lab: Lab) -> None:
    """Add the pages to the site."""

    @site.get("/login")
    async def login_page(request: Request, next: str = "/") -> Response:
        if not lab.accounts.is_on or caller(request).credential is not None:
            return RedirectResponse(own_path(next), 303)
        return _page(request, lab, target=next)

    @site.post("/login")
    async def login(
        request: Request,
        email: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
        next: Annotated[str, Form()] = "/",
    ) -> Response:
        try:
            credentials = _read(email, password)
            token = await lab.accounts.signing_in.login(credentials, caller(request))
        except LabError as error:
            return _page(request, lab, target=next, email=email, error=error)
        answer = RedirectResponse(own_path(next), 303)
        set_session_cookie(answer, token, request)
        return answer

    @site.post("/logout")
    async def logout(request: Request) -> Response:
        await lab.accounts.signing_in.logout(caller(request))
        answer = RedirectResponse("/login", 303)
        delete_session_cookie(answer, request)
        return answer


def _read(email: str, password: str) -> Credentials:
    try:
        return Credentials(email=email, password=password)
    except ValidationError:
        raise WrongCredentialsError from None


def _page(
    request: Request,
    lab: Lab,
    *,
    target: str,
    email: str = "",
    error: LabError | None = None,
) -> HTMLResponse:
    return plain_page(
        request,
        "Sign in",
        "account/login.html",
        error=error,
        target=own_path(target),
        email=email,
        providers=lab.accounts.openid.providers,
        is_first=lab.accounts.signing_in.is_first,
    )
