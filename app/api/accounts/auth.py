"""Register, sign in, sign out, reset a password."""

from fastapi import APIRouter, Request, Response

from app.accounts import Credentials, NewAccount, NewPassword
from app.api.accounts.users import Me
from app.api.shared import TheAccounts, refusals
from app.web.session_cookie import caller, delete_session_cookie, set_session_cookie

router = APIRouter(
    prefix="/auth",
    tags=["accounts"],
    responses=refusals(401, 403, 404, 422, 429),
)


@router.post("/register", status_code=201)
async def register(
    body: NewAccount, request: Request, response: Response, accounts: TheAccounts
) -> Me:
    """Create an account and sign in; the first account is the administrator's."""
    token = await accounts.signing_in.register(body, caller(request))
    set_session_cookie(response, token, request)
    return await Me.of_session(token, accounts)


@router.post("/login")
async def login(
    credentials: Credentials, request: Request, response: Response, accounts: TheAccounts
) -> Me:
    """Sign in with a new session cookie; an existing session ends."""
    token = await accounts.signing_in.login(credentials, caller(request))
    set_session_cookie(response, token, request)
    return await Me.of_session(token, accounts)


@router.post("/logout", status_code=204)
async def logout(request: Request, response: Response, accounts: TheAccounts) -> None:
    """End the current session, with its pages and streams."""
    delete_session_cookie(response, request)
    await accounts.signing_in.logout(caller(request))


@router.post("/reset")
async def reset(
    body: NewPassword, request: Request, response: Response, accounts: TheAccounts
) -> Me:
    """Set a new password with a code from an administrator; all other sessions end."""
    token = await accounts.resets.use(body, caller(request))
    set_session_cookie(response, token, request)
    return await Me.of_session(token, accounts)
