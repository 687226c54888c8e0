"""`/auth/...`: sign in with an external account."""

from typing import Annotated
from urllib.parse import quote

from fastapi import FastAPI, Form, Request
from fastapi.responses import RedirectResponse, Response

from app.accounts import WrongCredentialsError
from app.accounts.auth import SignedIn, UnlinkedIdentity
from app.accounts.users import Accounts
from app.lab import Lab
from app.web.session_cookie import (
    caller,
    delete_state_cookie,
    read_state_cookie,
    set_session_cookie,
    set_state_cookie,
)
from pages.plain import own_path, plain_page
from storage import LabError


def register(site: FastAPI, lab: Lab) -> None:
    """Add the pages to the site."""
    accounts = lab.accounts

    @site.get("/auth/{provider}")
    async def begin(request: Request, provider: str, next: str = "/") -> Response:
        return await _begin(request, accounts, provider, own_path(next))

    @site.get("/auth/{provider}/callback")
    async def callback(
        request: Request, provider: str, state: str = "", code: str = ""
    ) -> Response:
        return await _callback(request, accounts, provider, state=state, code=code)

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
        url, cookie = await accounts.openid.begin(provider, redirect_uri=callback, target=target)
    except LabError as error:
        return _refused(request, error)
    answer = RedirectResponse(url, 303)
    set_state_cookie(answer, cookie, request)
    return answer


async def _callback(
    request: Request, accounts: Accounts, provider: str, *, state: str, code: str
) -> Response:
    openid, cookie, who = accounts.openid, read_state_cookie(request), caller(request)
    try:
        found = await openid.complete(provider, state=state, code=code, cookie=cookie, caller=who)
        if isinstance(found, SignedIn):
            return _signed_in(request, found)
        if found.user_id is not None or accounts.signing_in.needs_code:
            page = _ask(request, found, None)
            set_state_cookie(page, openid.seal(found), request)
            return page
        return _signed_in(request, await openid.join(found, "", who))
    except LabError as error:
        return _refused(request, error)


async def _finish(request: Request, accounts: Accounts, *, password: str, code: str) -> Response:
    openid, who = accounts.openid, caller(request)
    try:
        unlinked = openid.unseal(read_state_cookie(request))
    except LabError as error:
        return _refused(request, error)
    try:
        if unlinked.user_id is not None:
            return _signed_in(request, await openid.link(unlinked, password, who))
        return _signed_in(request, await openid.join(unlinked, code, who))
    except LabError as error:
        return _ask(request, unlinked, error)


def _signed_in(request: Request, found: SignedIn) -> Response:
    answer = RedirectResponse(found.target, 303)
    set_session_cookie(answer, found.token, request)
    delete_state_cookie(answer, request)
    return answer


def _ask(request: Request, found: UnlinkedIdentity, error: LabError | None) -> Response:
    """Ask for the password of the existing account, or for the code that a new one needs."""
    message = "The password is wrong." if isinstance(error, WrongCredentialsError) else error
    return plain_page(
        request,
        "Sign in",
        "account/external.html",
        error=error,
        message=message,
        found=found,
    )


def _refused(request: Request, error: LabError) -> Response:
    return plain_page(request, "Sign in", "account/refused.html", error=error)
