"""The account of the signed-in user: profile, API tokens, sessions."""

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse

from app.accounts import NewToken, ProfileChanges
from app.api.accounts.users import FreshToken, Me, Session, Token
from app.api.shared import (
    Listing,
    TheAccounts,
    TheLab,
    ThePrincipal,
    TheShortPage,
    part_of,
    refusals,
)

_ERRORS = refusals(401, 403, 404, 409, 422, 429)
router = APIRouter(prefix="/me", tags=["accounts"], responses=_ERRORS)


@router.get("")
async def get(accounts: TheAccounts, principal: ThePrincipal) -> Me:
    """Return the signed-in user."""
    return await Me.of(principal, accounts)


@router.patch("")
async def change(changes: ProfileChanges, accounts: TheAccounts, principal: ThePrincipal) -> Me:
    """Change your name, Hugging Face token, or password (which ends all other sessions)."""
    await accounts.profiles.change(principal, changes)
    return await Me.of(principal, accounts)


@router.get("/tokens")
async def list_tokens(
    accounts: TheAccounts, principal: ThePrincipal, page: TheShortPage
) -> Listing[Token]:
    """List your API tokens."""
    found = await accounts.profiles.tokens(principal)
    return part_of([Token.of(token) for token in found], page)


@router.post("/tokens", status_code=201)
async def create_token(
    body: NewToken, accounts: TheAccounts, principal: ThePrincipal
) -> FreshToken:
    """Create an API token; only this answer shows its secret."""
    token, secret = await accounts.profiles.make_token(principal, body)
    return FreshToken(**Token.of(token).model_dump(), token=secret)


@router.delete("/tokens/{token_id}", status_code=204)
async def revoke_token(token_id: str, accounts: TheAccounts, principal: ThePrincipal) -> None:
    """Revoke an API token; streams that use it end."""
    await accounts.profiles.revoke_token(principal, token_id)


@router.get("/sessions")
async def list_sessions(
    accounts: TheAccounts, principal: ThePrincipal, page: TheShortPage
) -> Listing[Session]:
    """List your sessions: the browsers in which you are signed in."""
    current = principal.credential.session_id
    found = await accounts.profiles.sessions(principal)
    sessions = [Session.of(session, current=session.id == current) for session in found]
    return part_of(sessions, page)


@router.delete("/sessions/{session_id}", status_code=204)
async def end_session(session_id: str, accounts: TheAccounts, principal: ThePrincipal) -> None:
    """End one of your sessions, with its pages and streams."""
    await accounts.profiles.end_session(principal, session_id)


@router.put("/avatar")
async def change_avatar(
    request: Request, lab: TheLab, accounts: TheAccounts, principal: ThePrincipal
) -> Me:
    """Set your picture: a PNG, JPEG, WebP or GIF as the body; it becomes small and square."""
    await lab.avatars.change(principal, await request.body())
    return await Me.of(principal, accounts)


@router.delete("/avatar")
async def remove_avatar(lab: TheLab, accounts: TheAccounts, principal: ThePrincipal) -> Me:
    """Remove your picture."""
    await lab.avatars.remove(principal)
    return await Me.of(principal, accounts)


users_router = APIRouter(prefix="/people", tags=["accounts"], responses=_ERRORS)


@users_router.get("/{user_id}/avatar.png", response_class=FileResponse)
async def avatar(
    user_id: str, lab: TheLab, accounts: TheAccounts, principal: ThePrincipal
) -> FileResponse:
    """Return a user's picture."""
    principal.check()
    path = lab.avatars.path(accounts.directory.get(user_id))
    headers = {"Cache-Control": "private, max-age=3600"}
    return FileResponse(path, media_type="image/png", headers=headers)
