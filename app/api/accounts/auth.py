"""Register, sign in, sign out."""

from fastapi import APIRouter, Request, Response

from app.accounts.requests import Credentials, NewAccount, NewPassword
from app.api.accounts.people import Me
from app.api.shared.dependencies import TheAccounts
from app.api.shared.errors import ErrorAnswer
from app.web.session_cookie import caller, give_cookie, take_cookie

router = APIRouter(
    prefix="/auth",
    tags=["accounts"],
    responses={
        401: {"model": ErrorAnswer},
        403: {"model": ErrorAnswer},
        404: {"model": ErrorAnswer},
        422: {"model": ErrorAnswer},
        429: {"model": ErrorAnswer},
    },
)


@router.post("/register", status_code=201)
async def register(
    wanted: NewAccount, request: Request, response: Response, accounts: TheAccounts
) -> Me:
    """Make an account and be signed in; the very first one looks after the lab."""
    token = await accounts.signing_in.register(wanted, caller(request))
    give_cookie(response, token, request)
    return await Me.behind(token, accounts)


@router.post("/login")
async def login(
    credentials: Credentials, request: Request, response: Response, accounts: TheAccounts
) -> Me:
    """Sign in; a session that was shown ends, and the cookie is a new one."""
    token = await accounts.signing_in.login(credentials, caller(request))
    give_cookie(response, token, request)
    return await Me.behind(token, accounts)


@router.post("/logout", status_code=204)
async def logout(request: Request, response: Response, accounts: TheAccounts) -> None:
    """Sign out here; pages and streams of this session end."""
    take_cookie(response, request)
    await accounts.signing_in.logout(caller(request))


@router.post("/reset")
async def reset(
    wanted: NewPassword, request: Request, response: Response, accounts: TheAccounts
) -> Me:
    """Set a new password with a code from an administrator; all other sessions end."""
    token = await accounts.resets.use(wanted, caller(request))
    give_cookie(response, token, request)
    return await Me.behind(token, accounts)
