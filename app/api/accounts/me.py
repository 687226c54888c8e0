"""One's own account: profile, API tokens, sessions."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse

from app.accounts.requests import NewToken, ProfileChanges
from app.api.accounts.people import FreshToken, Me, Session, Token
from app.api.shared.dependencies import TheAccounts, TheLab, TheVisitor
from app.api.shared.errors import ErrorAnswer
from app.api.shared.paging import TheShortPage, part_of
from app.api.shared.schemas import Listing

_ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorAnswer},
    403: {"model": ErrorAnswer},
    404: {"model": ErrorAnswer},
    409: {"model": ErrorAnswer},
    422: {"model": ErrorAnswer},
    429: {"model": ErrorAnswer},
}

router = APIRouter(prefix="/me", tags=["accounts"], responses=_ERRORS)


@router.get("")
async def get(accounts: TheAccounts, visitor: TheVisitor) -> Me:
    """Say who asks."""
    return await Me.of(visitor, accounts)


@router.patch("")
async def change(changes: ProfileChanges, accounts: TheAccounts, visitor: TheVisitor) -> Me:
    """Change one's name, Hugging Face token, or password (which ends all other sessions)."""
    await accounts.profiles.change(visitor, changes)
    return await Me.of(visitor, accounts)


@router.get("/tokens")
async def list_tokens(
    accounts: TheAccounts, visitor: TheVisitor, page: TheShortPage
) -> Listing[Token]:
    """List one's API tokens."""
    return part_of([Token.of(one) for one in await accounts.profiles.tokens(visitor)], page)


@router.post("/tokens", status_code=201)
async def make_token(wanted: NewToken, accounts: TheAccounts, visitor: TheVisitor) -> FreshToken:
    """Make an API token; this answer alone shows it."""
    made, shown = await accounts.profiles.make_token(visitor, wanted)
    return FreshToken(**Token.of(made).model_dump(), token=shown)


@router.delete("/tokens/{token_id}", status_code=204)
async def revoke_token(token_id: str, accounts: TheAccounts, visitor: TheVisitor) -> None:
    """Revoke an API token; what uses it ends."""
    await accounts.profiles.revoke_token(visitor, token_id)


@router.get("/sessions")
async def list_sessions(
    accounts: TheAccounts, visitor: TheVisitor, page: TheShortPage
) -> Listing[Session]:
    """List the browsers in which one is signed in."""
    found = await accounts.profiles.sessions(visitor)
    return part_of([Session.of(one, visitor) for one in found], page)


@router.delete("/sessions/{session_id}", status_code=204)
async def end_session(session_id: str, accounts: TheAccounts, visitor: TheVisitor) -> None:
    """Sign out a browser; its pages and streams end."""
    await accounts.profiles.end_session(visitor, session_id)


@router.put("/avatar")
async def change_avatar(
    request: Request, lab: TheLab, accounts: TheAccounts, visitor: TheVisitor
) -> Me:
    """Set one's picture: a PNG, JPEG, WebP or GIF as the body; it is made small and square."""
    await lab.avatars.change(visitor, await request.body())
    return await Me.of(visitor, accounts)


@router.delete("/avatar")
async def remove_avatar(lab: TheLab, accounts: TheAccounts, visitor: TheVisitor) -> Me:
    """Take one's picture away."""
    await lab.avatars.remove(visitor)
    return await Me.of(visitor, accounts)


people_router = APIRouter(prefix="/people", tags=["accounts"], responses=_ERRORS)


@people_router.get("/{person_id}/avatar.png", response_class=FileResponse)
async def avatar(
    person_id: str, lab: TheLab, accounts: TheAccounts, visitor: TheVisitor
) -> FileResponse:
    """Return somebody's picture."""
    visitor.check()
    path = lab.avatars.path(accounts.directory.get(person_id))
    headers = {"Cache-Control": "private, max-age=3600"}
    return FileResponse(path, media_type="image/png", headers=headers)
