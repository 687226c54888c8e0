"""Administration: people, roles, limits, registration, invitations, disk, audit log."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from app.accounts.requests import LabChanges, NewInvitation, PersonChanges
from app.api.accounts.people import (
    AuditEntry,
    FreshInvitation,
    FreshReset,
    Invitation,
    LimitsShape,
    Person,
)
from app.api.shared.dependencies import LARGEST, TheAccounts, TheLab, TheVisitor
from app.api.shared.errors import ErrorAnswer
from app.api.shared.paging import TheShortPage, part_of
from app.api.shared.schemas import Listing
from storage.records.accounts import Registration

_ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorAnswer},
    403: {"model": ErrorAnswer},
    404: {"model": ErrorAnswer},
    409: {"model": ErrorAnswer},
    422: {"model": ErrorAnswer},
}


class Disk(BaseModel):
    """Bytes on the disk of the runs folder."""

    used: int
    free: int


class LabState(BaseModel):
    """What administrators look after."""

    registration: Registration
    limits: LimitsShape
    """What people may use who have no limits of their own."""
    sandbox: str
    sandbox_open_doors: list[str]
    disk: Disk


router = APIRouter(prefix="/admin", tags=["administration"], responses=_ERRORS)


@router.get("/lab")
async def get_lab(lab: TheLab, accounts: TheAccounts, visitor: TheVisitor) -> LabState:
    """Return who may register, what people may use, how workers are locked in, and the disk."""
    visitor.check_admin()
    sandbox = await lab.sandbox()
    used = sum((await lab.disk.by_owner()).values())
    return LabState(
        registration=accounts.directory.registration,
        limits=LimitsShape.of(accounts.directory.usual_limits),
        sandbox=sandbox.level,
        sandbox_open_doors=list(sandbox.open_doors),
        disk=Disk(used=used, free=await lab.disk.free()),
    )


@router.patch("/lab")
async def change_lab(
    changes: LabChanges, lab: TheLab, accounts: TheAccounts, visitor: TheVisitor
) -> LabState:
    """Set who may register, and what people may use who have no limits of their own."""
    await accounts.administration.change_lab(visitor, changes)
    return await get_lab(lab, accounts, visitor)


@router.get("/people")
async def list_people(
    lab: TheLab, accounts: TheAccounts, visitor: TheVisitor, page: TheShortPage
) -> Listing[Person]:
    """List everybody with what they use."""
    found = accounts.administration.people(visitor)
    used = await lab.disk.by_owner()
    return part_of([Person.of(person, used.get(person.id, 0)) for person in found], page)


@router.patch("/people/{person_id}")
async def change_person(
    person_id: str,
    changes: PersonChanges,
    lab: TheLab,
    accounts: TheAccounts,
    visitor: TheVisitor,
) -> Person:
    """Change somebody's role or limits, or block them, which signs them out everywhere."""
    person = await accounts.administration.change_person(visitor, person_id, changes)
    return Person.of(person, (await lab.disk.by_owner()).get(person.id, 0))


@router.post("/people/{person_id}/reset", status_code=201)
async def reset_password(
    person_id: str, request: Request, accounts: TheAccounts, visitor: TheVisitor
) -> FreshReset:
    """Let somebody who forgot their password set a new one; this answer alone shows the code."""
    made, code = await accounts.resets.make(visitor, person_id)
    return FreshReset(
        email=accounts.directory.email_of(made.person_id) or "",
        expires_at=made.expires_at,
        code=code,
        url=f"{request.url.scheme}://{request.url.netloc}/reset?code={code}",
    )


@router.get("/invitations")
async def list_invitations(
    accounts: TheAccounts, visitor: TheVisitor, page: TheShortPage
) -> Listing[Invitation]:
    """List invitations, newest first."""
    found = await accounts.administration.invitations(visitor)
    return part_of([Invitation.of(one) for one in found], page)


@router.post("/invitations", status_code=201)
async def invite(
    wanted: NewInvitation, request: Request, accounts: TheAccounts, visitor: TheVisitor
) -> FreshInvitation:
    """Invite somebody; this answer alone shows the code."""
    made, code = await accounts.administration.invite(visitor, wanted)
    url = f"{request.url.scheme}://{request.url.netloc}/register?invitation={code}"
    return FreshInvitation(**Invitation.of(made).model_dump(), code=code, url=url)


@router.delete("/invitations/{invitation_id}", status_code=204)
async def revoke_invitation(invitation_id: str, accounts: TheAccounts, visitor: TheVisitor) -> None:
    """Take an invitation back that wasn't used."""
    await accounts.administration.revoke_invitation(visitor, invitation_id)


@router.get("/audit")
async def read_audit(
    accounts: TheAccounts,
    visitor: TheVisitor,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
) -> Listing[AuditEntry]:
    """Return who did what when, newest first."""
    found = await accounts.administration.audit(visitor, before=cursor, limit=limit + 1)
    following = str(found[limit - 1].id) if len(found) > limit else None
    return Listing(items=[AuditEntry.of(entry) for entry in found[:limit]], next=following)
