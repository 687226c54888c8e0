"""`/auth/...`: sign in with an account elsewhere."""

from typing import Annotated
from urllib.parse import quote

from fastapi import FastAPI, Form, Request
from fastapi.responses import RedirectResponse, Response

from app.accounts.auth.openid import SignedIn, Unproven
from app.accounts.errors import WrongCredentialsError
from app.accounts.users.accounts import Accounts
from app.lab import Lab
from app.web.session_cookie import (
    caller,
    give_cookie,
    give_short_cookie,
    read_short_cookie,
    take_short_cookie,
)
from pages.plain import field, form, own_path, plain_page, submit
from storage.errors import LabError


def register(site: FastAPI, lab: Lab) -> None:
    """Add the pages to the site."""
    accounts = lab.accounts

    @site.get("/auth/{provider}")
    async def begin(request: Request, provider: str, next: str = "/") -> Response:
        return await _begin(request, accounts, provider, own_path(next))

    @site.get("/auth/{provider}/callback")
    async def come_back(
        request: Request, provider: str, state: str = "", code: str = ""
    ) -> Response:
        return await _come_back(request, accounts, provider, state=state, code=code)

    @site.post("/auth/finish")
    async def finish(
        request: Request,
        password: Annotated[str, Form()] = "",
        code: Annotated[str, Form()] = "",
    ) -> Response:
        return await _finish(request, accounts, password=password, code=code)


async def _begin(request: Request, accounts: Accounts, provider: str, target: str) -> Response:
    home = f"{request.url.scheme}://{request.url.netloc}"
    callback = f"{home}/auth/{quote(provider, safe='')}/callback"
    try:
        address, kept = await accounts.openid.begin(provider, redirect_uri=callback, target=target)
    except LabError as error:
        return _refused(request, error)
    answer = RedirectResponse(address, 303)
    give_short_cookie(answer, kept, request)
    return answer


async def _come_back(
    request: Request, accounts: Accounts, provider: str, *, state: str, code: str
) -> Response:
    openid, kept, who = accounts.openid, read_short_cookie(request), caller(request)
    try:
        found = await openid.complete(provider, state=state, code=code, kept=kept, caller=who)
        if isinstance(found, SignedIn):
            return _come_in(request, found)
        if found.person_id is not None or accounts.signing_in.needs_code:
            asked = _ask(request, found, None)
            give_short_cookie(asked, openid.keep(found), request)
            return asked
        return _come_in(request, await openid.join(found, "", who))
    except LabError as error:
        return _refused(request, error)


async def _finish(request: Request, accounts: Accounts, *, password: str, code: str) -> Response:
    openid, who = accounts.openid, caller(request)
    try:
        unproven = openid.unproven(read_short_cookie(request))
    except LabError as error:
        return _refused(request, error)
    try:
        if unproven.person_id is not None:
            return _come_in(request, await openid.link(unproven, password, who))
        return _come_in(request, await openid.join(unproven, code, who))
    except LabError as error:
        return _ask(request, unproven, error)


def _come_in(request: Request, found: SignedIn) -> Response:
    answer = RedirectResponse(found.target, 303)
    give_cookie(answer, found.token, request)
    take_short_cookie(answer, request)
    return answer


def _ask(request: Request, found: Unproven, error: LabError | None) -> Response:
    """Ask for the password of the account here, or for the code that a new one needs."""
    there = found.provider_name
    if found.person_id is not None:
        words = f"Connect {there} with {found.email}"
        asked = field(
            f"Password of {found.email} here",
            "password",
            type="password",
            autocomplete="current-password",
            required="",
            autofocus="",
        )
    else:
        words = f"Make an account for {found.email}"
        asked = field("Invitation or set-up code", "code", autocomplete="off", required="")
    said = "The password is wrong." if isinstance(error, WrongCredentialsError) else error
    content = form(words, "/auth/finish", asked, submit("Go on"), error=str(said) if said else None)
    return plain_page(request, "Sign in", content, error=error)


def _refused(request: Request, error: LabError) -> Response:
    back = '<p class="lab-small"><a href="/login">Back to signing in</a></p>'
    content = form("Sign in", "/login", back, error=str(error))
    return plain_page(request, "Sign in", content, error=error)
