"""`/register`: make an account; a form that is sent as it is, without NiceGUI."""

from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.accounts.auth.passwords import LONGEST, SHORTEST
from app.accounts.requests import NewAccount
from app.accounts.users.accounts import Accounts
from app.core.errors import explain
from app.lab import Lab
from app.web.session_cookie import caller, give_cookie
from pages.plain import field, form, plain_page, submit
from storage.errors import LabError
from storage.records.accounts import Registration

_SIGN_IN = '<p class="lab-small">You have an account? <a href="/login">Sign in</a></p>'
_CLOSED = (
    '<div class="lab-empty"><p class="lab-name">This lab takes no new accounts</p>'
    '<p>Ask its administrator, or <a href="/login">sign in</a>.</p></div>'
)


def register(site: FastAPI, lab: Lab) -> None:
    """Add the page to the site."""

    @site.get("/register")
    async def register_page(request: Request, invitation: str = "") -> Response:
        if not lab.accounts.is_on:
            return RedirectResponse("/", 303)
        return _page(request, lab.accounts, {"invitation": invitation})

    @site.post("/register")
    async def register_account(
        request: Request,
        email: Annotated[str, Form()] = "",
        name: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
        setup_code: Annotated[str, Form()] = "",
        invitation: Annotated[str, Form()] = "",
    ) -> Response:
        codes = {"setup_code": setup_code, "invitation": invitation}
        given = {"email": email, "name": name, **codes}
        try:
            wanted = _read(given, password)
            token = await lab.accounts.signing_in.register(wanted, caller(request))
        except LabError as error:
            return _page(request, lab.accounts, given, error=error)
        answer = RedirectResponse("/", 303)
        give_cookie(answer, token, request)
        return answer


def _read(given: dict[str, str], password: str) -> NewAccount:
    values = {key: value for key, value in given.items() if value.strip()}
    try:
        return NewAccount.model_validate({**values, "password": password})
    except ValidationError as error:
        raise explain([dict(one) for one in error.errors()]) from None


def _page(
    request: Request,
    accounts: Accounts,
    given: dict[str, str],
    *,
    error: LabError | None = None,
) -> HTMLResponse:
    is_first = accounts.signing_in.is_first
    if accounts.directory.registration is Registration.CLOSED and not is_first:
        return plain_page(request, "Make an account", _CLOSED, status=403 if error else 200)
    content = form(
        "Make the first account" if is_first else "Make an account",
        "/register",
        *_code_fields(accounts, given),
        field(
            "E-mail",
            "email",
            type="email",
            value=given.get("email", ""),
            autocomplete="username",
            required="",
        ),
        field("Name", "name", value=given.get("name", ""), autocomplete="name", maxlength="100"),
        field(
            f"Password (at least {SHORTEST} characters)",
            "password",
            type="password",
            autocomplete="new-password",
            minlength=str(SHORTEST),
            maxlength=str(LONGEST),
            required="",
        ),
        submit("Make account"),
        _SIGN_IN,
        error=str(error) if error else None,
    )
    return plain_page(request, "Make an account", content, error=error)


def _code_fields(accounts: Accounts, given: dict[str, str]) -> list[str]:
    if accounts.signing_in.setup_code is not None:
        label, name = "Set-up code, from the server's console", "setup_code"
    elif accounts.signing_in.is_first or accounts.directory.registration is Registration.OPEN:
        return []
    else:
        label, name = "Invitation code", "invitation"
    value = given.get(name, "")
    return [field(label, name, value=value, autocomplete="off", required="")]
