"""`/login` and `/logout`: forms that are sent as they are, without NiceGUI."""

from html import escape
from typing import Annotated
from urllib.parse import quote

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.accounts.errors import WrongCredentialsError
from app.accounts.requests import Credentials
from app.lab import Lab
from app.web.session_cookie import caller, give_cookie, take_cookie
from pages.plain import field, form, hidden, own_path, plain_page, submit
from storage.errors import LabError


def register(site: FastAPI, lab: Lab) -> None:
    """Add the pages to the site."""

    @site.get("/login")
    async def login_page(request: Request, next: str = "/") -> Response:
        if not lab.accounts.is_on or caller(request).shown is not None:
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
        give_cookie(answer, token, request)
        return answer

    @site.post("/logout")
    async def logout(request: Request) -> Response:
        await lab.accounts.signing_in.logout(caller(request))
        answer = RedirectResponse("/login", 303)
        take_cookie(answer, request)
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
    content = form(
        "Sign in",
        "/login",
        hidden("next", own_path(target)),
        field(
            "E-mail",
            "email",
            type="email",
            value=email,
            autocomplete="username",
            required="",
            **{} if email else {"autofocus": ""},
        ),
        field(
            "Password",
            "password",
            type="password",
            autocomplete="current-password",
            required="",
            **{"autofocus": ""} if email else {},
        ),
        submit("Sign in"),
        _other_ways(lab, own_path(target)),
        error=str(error) if error else None,
    )
    return plain_page(request, "Sign in", content, error=error)


def _other_ways(lab: Lab, target: str) -> str:
    providers = "".join(
        f'<a class="lab-button lab-quiet" href="/auth/{escape(provider.id)}'
        f'?next={quote(target)}">Sign in with {escape(provider.name)}</a>'
        for provider in lab.accounts.openid.providers
    )
    words = "the first account" if lab.accounts.signing_in.is_first else "an account"
    return (
        f'{providers}<p class="lab-small">No account? <a href="/register">Make {words}</a></p>'
        '<p class="lab-small">Forgot your password? An administrator can give you a code for '
        '<a href="/reset">a new one</a>.</p>'
    )
