"""Environments that people write: check, keep, share, and take away."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, StrictStr

from app.accounts.visitors import Visitor
from app.api.catalog.environments import find_for
from app.api.shared.dependencies import TheLab, TheVisitor
from app.api.shared.errors import ErrorAnswer
from app.api.shared.paging import TheShortPage, part_of
from app.api.shared.schemas import Environment, Listing
from app.authoring.environments.custom_environments import LONGEST_CODE, CustomEnvironment, Version
from app.lab import Lab
from app.protocol import messages
from storage.records.runs import Visibility

router = APIRouter(
    prefix="/environments/custom",
    tags=["environments"],
    responses={404: {"model": ErrorAnswer}, 503: {"model": ErrorAnswer}},
)

_Code = Annotated[StrictStr, Field(max_length=LONGEST_CODE)]


class EnvironmentCode(BaseModel):
    """A file of Python with one class that extends `gymnasium.Env`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: _Code


class NewEnvironment(EnvironmentCode):
    """An environment to keep."""

    name: Annotated[StrictStr, Field(max_length=100)]
    """Small letters, digits and hyphens; its versions are `custom/<name>-v1` and so on."""


class EnvironmentSharing(BaseModel):
    """Who may use an environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    visibility: Visibility


class EnvironmentFinding(BaseModel):
    """What the check found."""

    check: str
    level: Literal["ok", "warning", "error"]
    message: str
    line: int | None

    @classmethod
    def of(cls, found: messages.Finding) -> "EnvironmentFinding":
        """Describe a finding."""
        return cls(check=found.check, level=found.level, message=found.message, line=found.line)


class EnvironmentCheck(BaseModel):
    """Whether an environment can be trained on, and what else was found."""

    usable: bool
    findings: list[EnvironmentFinding]
    steps_per_second: float | None


class EnvironmentVersion(BaseModel):
    """One version, as runs use it."""

    version: int
    env_id: str
    created_at: datetime
    code: str
    findings: list[EnvironmentFinding]
    steps_per_second: float | None

    @classmethod
    def of(cls, one: CustomEnvironment, version: Version) -> "EnvironmentVersion":
        """Describe a version."""
        return cls(
            version=version.number,
            env_id=one.id_of(version),
            created_at=version.created_at,
            code=version.code,
            findings=[EnvironmentFinding.of(found) for found in version.findings],
            steps_per_second=version.steps_per_second,
        )


class WrittenEnvironment(BaseModel):
    """An environment that somebody wrote; its versions are newest first."""

    name: str
    owner: str | None
    visibility: Visibility
    may_change: bool
    versions: list[EnvironmentVersion]

    @classmethod
    def of(cls, one: CustomEnvironment, lab: Lab, visitor: Visitor) -> "WrittenEnvironment":
        """Describe it as this visitor may see it."""
        there = (version for version in reversed(one.versions) if version.code)
        return cls(
            name=one.name,
            owner=lab.accounts.directory.email_of(one.owner),
            visibility=one.visibility,
            may_change=lab.custom.changes(visitor, one),
            versions=[EnvironmentVersion.of(one, version) for version in there],
        )


@router.get("")
async def list_written(
    lab: TheLab, visitor: TheVisitor, page: TheShortPage
) -> Listing[WrittenEnvironment]:
    """List the environments that were written here, as far as you may see them."""
    found = lab.custom.list(visitor)
    return part_of([WrittenEnvironment.of(one, lab, visitor) for one in found], page)


@router.post("", status_code=201)
async def create(wanted: NewEnvironment, lab: TheLab, visitor: TheVisitor) -> WrittenEnvironment:
    """Check an environment and keep it as version 1, for yourself until you share it."""
    made = await lab.custom.create(visitor, wanted.name, wanted.code)
    return WrittenEnvironment.of(made, lab, visitor)


@router.post("/check")
async def check(wanted: EnvironmentCode, lab: TheLab, visitor: TheVisitor) -> EnvironmentCheck:
    """Try an environment in a locked worker, and keep nothing."""
    found = await lab.custom.check(visitor, wanted.code)
    return EnvironmentCheck(
        usable=found.described is not None,
        findings=[EnvironmentFinding.of(one) for one in found.findings],
        steps_per_second=found.steps_per_second,
    )


@router.get("/{name}")
async def get(name: str, lab: TheLab, visitor: TheVisitor) -> WrittenEnvironment | Environment:
    """Return one with its versions and their code; of `<name>-v<version>`, what runs know of it."""
    if name.rpartition("-v")[2].isdecimal():
        return Environment.of(await find_for(f"custom/{name}", lab, visitor))
    return WrittenEnvironment.of(lab.custom.get(visitor, name), lab, visitor)


@router.post("/{name}/versions", status_code=201)
async def add_version(
    name: str, wanted: EnvironmentCode, lab: TheLab, visitor: TheVisitor
) -> WrittenEnvironment:
    """Check another version and keep it; the same code once more changes nothing."""
    made = await lab.custom.add_version(visitor, name, wanted.code)
    return WrittenEnvironment.of(made, lab, visitor)


@router.patch("/{name}")
async def share(
    name: str, wanted: EnvironmentSharing, lab: TheLab, visitor: TheVisitor
) -> WrittenEnvironment:
    """Let everybody use it, or nobody else."""
    changed = await lab.custom.share(visitor, name, wanted.visibility)
    return WrittenEnvironment.of(changed, lab, visitor)


@router.delete("/{name}", status_code=204)
async def delete(name: str, lab: TheLab, visitor: TheVisitor) -> Response:
    """Take it out of the catalogue; runs that used it keep their copy and can go on."""
    await lab.custom.delete(visitor, name)
    return Response(status_code=204)
