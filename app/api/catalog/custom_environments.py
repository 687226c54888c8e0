"""Custom environments: check, save, share, delete."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field, StrictStr

from app.accounts import Principal
from app.api.catalog.environments import find_for
from app.api.shared import (
    Environment,
    Listing,
    RequestShape,
    Shape,
    TheLab,
    ThePrincipal,
    TheShortPage,
    part_of,
    refusals,
)
from app.authoring.environments import MAX_ENVIRONMENT_CODE, CustomEnvironment
from app.lab import Lab
from storage.records import Visibility

router = APIRouter(
    prefix="/environments/custom",
    tags=["environments"],
    responses=refusals(404, 503),
)

_Code = Annotated[StrictStr, Field(max_length=MAX_ENVIRONMENT_CODE)]


class EnvironmentCode(RequestShape):
    """A Python file with one class that extends `gymnasium.Env`."""

    code: _Code


class NewEnvironment(EnvironmentCode):
    """A custom environment to save."""

    name: Annotated[StrictStr, Field(max_length=100)]
    """Lower-case letters, digits and hyphens; its versions are `custom/<name>-v1` and so on."""


class EnvironmentSharing(RequestShape):
    """Who may use an environment."""

    visibility: Visibility


class EnvironmentFinding(Shape):
    """One finding of the check."""

    check: str
    level: Literal["ok", "warning", "error"]
    message: str
    line: int | None


class EnvironmentCheck(Shape):
    """Whether an environment can be trained on, with all findings."""

    usable: bool
    findings: list[EnvironmentFinding]
    steps_per_second: float | None


class EnvironmentVersion(Shape):
    """One version of a custom environment."""

    version: int = Field(validation_alias="number")
    env_id: str
    created_at: datetime
    code: str
    findings: list[EnvironmentFinding]
    steps_per_second: float | None


class WrittenEnvironment(BaseModel):
    """A custom environment with its versions, newest first."""

    name: str
    owner: str | None
    visibility: Visibility
    may_change: bool
    versions: list[EnvironmentVersion]

    @classmethod
    def of(cls, custom: CustomEnvironment, lab: Lab, principal: Principal) -> "WrittenEnvironment":
        """Describe a custom environment to a principal."""
        newest_first = reversed(custom.versions)
        return cls(
            name=custom.name,
            owner=lab.accounts.directory.email_of(custom.owner),
            visibility=custom.visibility,
            may_change=principal.changes(custom),
            versions=[
                EnvironmentVersion.of(version, env_id=custom.id_of(version))
                for version in newest_first
                if version.code
            ],
        )


@router.get("")
async def list_custom(
    lab: TheLab, principal: ThePrincipal, page: TheShortPage
) -> Listing[WrittenEnvironment]:
    """List the custom environments that you may see."""
    found = lab.custom.list(principal)
    return part_of([WrittenEnvironment.of(custom, lab, principal) for custom in found], page)


@router.post("", status_code=201)
async def create(body: NewEnvironment, lab: TheLab, principal: ThePrincipal) -> WrittenEnvironment:
    """Check an environment and save it as version 1, private until you share it."""
    created = await lab.custom.create(principal, body.name, body.code)
    return WrittenEnvironment.of(created, lab, principal)


@router.post("/check")
async def check(body: EnvironmentCode, lab: TheLab, principal: ThePrincipal) -> EnvironmentCheck:
    """Check an environment in a sandboxed worker without saving it."""
    found = await lab.custom.check(principal, body.code)
    return EnvironmentCheck.of(found, usable=found.described is not None)


@router.get("/{name}")
async def get(name: str, lab: TheLab, principal: ThePrincipal) -> WrittenEnvironment | Environment:
    """Return a custom environment with its code; for `<name>-v<version>`, its specification."""
    if name.rpartition("-v")[2].isdecimal():
        return Environment.of(await find_for(f"custom/{name}", lab, principal))
    return WrittenEnvironment.of(lab.custom.get(principal, name), lab, principal)


@router.post("/{name}/versions", status_code=201)
async def add_version(
    name: str, body: EnvironmentCode, lab: TheLab, principal: ThePrincipal
) -> WrittenEnvironment:
    """Check and save another version; the same code as the newest version adds none."""
    changed = await lab.custom.add_version(principal, name, body.code)
    return WrittenEnvironment.of(changed, lab, principal)


@router.patch("/{name}")
async def share(
    name: str, body: EnvironmentSharing, lab: TheLab, principal: ThePrincipal
) -> WrittenEnvironment:
    """Share a custom environment with everyone, or make it private."""
    changed = await lab.custom.share(principal, name, body.visibility)
    return WrittenEnvironment.of(changed, lab, principal)


@router.delete("/{name}", status_code=204)
async def delete(name: str, lab: TheLab, principal: ThePrincipal) -> Response:
    """Delete a custom environment; runs that use it keep their copy and can continue."""
    await lab.custom.delete(principal, name)
    return Response(status_code=204)
