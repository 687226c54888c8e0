"""`/register`: create an account with a plain HTML form, without NiceGUI."""

from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from app.accounts import NewAccount
from app.accounts.auth import MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH
from app.accounts.users import Accounts
from app.core import input_error
from app.lab import Lab
from app.web.session_cookie import caller, set_session_cookie
from pages.plain import plain_page
from storage import LabError
from storage.records import Registration

_TITLE = "Create an account"


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
            new_account = _read(given, password)
            token = await lab.accounts.signing_in.register(new_account, caller(request))
        except LabError as error:
            return _page(request, lab.accounts, given, error=error)
        answer = RedirectResponse("/", 303)
        set_session_cookie(answer, token, request)
        return answer


def _read(given: dict[str, str], password: str) -> NewAccount:
    values = {key: value for key, value in given.items() if value.strip()}
    try:
        return NewAccount.model_validate({**values, "password": password})
    except ValidationError as error:
        raise input_error([dict(one) for one in error.errors()]) from None


def _page(
    request: Request,
    accounts: Accounts,
    given: dict[str, str],
    *,
    error: LabError | None = None,
) -> HTMLResponse:
    is_first = accounts.signing_in.is_first
    if accounts.directory.registration is Registration.CLOSED and not is_first:
        return plain_page(request, _TITLE, "account/closed.html", status=403 if error else 200)
    label, name = _code(accounts)
    return plain_page(
        request,
        _TITLE,
        "account/register.html",
        error=error,
        is_first=is_first,
        given=given,
        code_label=label,
        code_name=name,
        shortest=MIN_PASSWORD_LENGTH,
        longest=MAX_PASSWORD_LENGTH,
    )


def _code(accounts: Accounts) -> tuple[str, str]:
    """Return label and field name of the code that a new account needs; empty if none."""
    if accounts.signing_in.setup_code is not None:
        return "Set-up code, from the server's console", "setup_code"
    if accounts.signing_in.is_first or accounts.directory.registration is Registration.OPEN:
        return "", ""
    return "Invitation code", "invitation"
