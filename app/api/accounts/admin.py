"""Administration: users, roles, limits, registration, invitations, disk, audit log."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from app.accounts import LabChanges, NewInvitation, UserChanges
from app.api.accounts.users import (
    AuditEntry,
    FreshInvitation,
    FreshReset,
    Invitation,
    LimitsShape,
    User,
)
from app.api.shared import (
    MAX_COUNTER,
    Listing,
    TheAccounts,
    TheLab,
    ThePrincipal,
    TheShortPage,
    part_of,
    refusals,
)
from storage.records import Registration


class Disk(BaseModel):
    """Disk space of the runs folder, in bytes."""

    used: int
    free: int


class LabState(BaseModel):
    """Settings and state of the lab, for administrators."""

    registration: Registration
    limits: LimitsShape
    """Limits of users who have none of their own."""
    sandbox: str
    sandbox_open_doors: list[str]
    disk: Disk


router = APIRouter(
    prefix="/admin", tags=["administration"], responses=refusals(401, 403, 404, 409, 422)
)


@router.get("/lab")
async def get_lab(lab: TheLab, accounts: TheAccounts, principal: ThePrincipal) -> LabState:
    """Return who may register, the default limits, the state of the sandbox, and disk use."""
    principal.check_admin()
    sandbox = await lab.sandbox()
    used = sum((await lab.disk.by_owner()).values())
    return LabState(
        registration=accounts.directory.registration,
        limits=LimitsShape.of(accounts.directory.default_limits),
        sandbox=sandbox.level,
        sandbox_open_doors=list(sandbox.escapes),
        disk=Disk(used=used, free=await lab.disk.free()),
    )


@router.patch("/lab")
async def change_lab(
    changes: LabChanges, lab: TheLab, accounts: TheAccounts, principal: ThePrincipal
) -> LabState:
    """Change who may register, and the limits of users who have none of their own."""
    await accounts.administration.change_lab(principal, changes)
    return await get_lab(lab, accounts, principal)


@router.get("/people")
async def list_users(
    lab: TheLab, accounts: TheAccounts, principal: ThePrincipal, page: TheShortPage
) -> Listing[User]:
    """List all users with their disk use."""
    found = accounts.administration.users(principal)
    used = await lab.disk.by_owner()
    return part_of([User.of(user, used.get(user.id, 0)) for user in found], page)


@router.patch("/people/{user_id}")
async def change_user(
    user_id: str,
    changes: UserChanges,
    lab: TheLab,
    accounts: TheAccounts,
    principal: ThePrincipal,
) -> User:
    """Change a user's role or limits, or block them, which signs them out everywhere."""
    user = await accounts.administration.change_user(principal, user_id, changes)
    return User.of(user, (await lab.disk.by_owner()).get(user.id, 0))


@router.post("/people/{user_id}/reset", status_code=201)
async def reset_password(
    user_id: str, request: Request, accounts: TheAccounts, principal: ThePrincipal
) -> FreshReset:
    """Create a code with which a user can set a new password; only this answer shows it."""
    reset, code = await accounts.resets.make(principal, user_id)
    return FreshReset(
        email=accounts.directory.email_of(reset.user_id) or "",
        expires_at=reset.expires_at,
        code=code,
        url=f"{request.url.scheme}://{request.url.netloc}/reset?code={code}",
    )


@router.get("/invitations")
async def list_invitations(
    accounts: TheAccounts, principal: ThePrincipal, page: TheShortPage
) -> Listing[Invitation]:
    """List invitations, newest first."""
    found = await accounts.administration.invitations(principal)
    return part_of([Invitation.of(invitation) for invitation in found], page)


@router.post("/invitations", status_code=201)
async def invite(
    body: NewInvitation, request: Request, accounts: TheAccounts, principal: ThePrincipal
) -> FreshInvitation:
    """Create an invitation; only this answer shows its code."""
    invitation, code = await accounts.administration.invite(principal, body)
    url = f"{request.url.scheme}://{request.url.netloc}/register?invitation={code}"
    return FreshInvitation(**Invitation.of(invitation).model_dump(), code=code, url=url)


@router.delete("/invitations/{invitation_id}", status_code=204)
async def revoke_invitation(
    invitation_id: str, accounts: TheAccounts, principal: ThePrincipal
) -> None:
    """Revoke an unused invitation."""
    await accounts.administration.revoke_invitation(principal, invitation_id)


@router.get("/audit")
async def read_audit(
    accounts: TheAccounts,
    principal: ThePrincipal,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[int | None, Query(ge=0, le=MAX_COUNTER)] = None,
) -> Listing[AuditEntry]:
    """Return entries of the audit log, newest first."""
    found = await accounts.administration.audit(principal, before=cursor, limit=limit + 1)
    following = str(found[limit - 1].id) if len(found) > limit else None
    return Listing(items=[AuditEntry.of(entry) for entry in found[:limit]], next=following)
