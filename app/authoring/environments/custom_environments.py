"""Custom environments: checked in a worker, stored in versions, used like any other.

Their code never runs in this process. It is sent with every job that needs it, and each run has
a copy of the version that it uses.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus

import msgspec

from app.accounts import AccessError, ForbiddenError, Principal, UnknownThingError
from app.accounts.access import CodePolicy
from app.accounts.limits import Attempts
from app.catalog.environments import CUSTOM_PREFIX, EnvSpec, register_environment
from app.core import InputError
from app.core.events import Event
from app.discovery import spec_of
from app.protocol import UserCodeError, commands, messages
from app.workers import (
    MAX_IMAGE_BYTES,
    JobError,
    JobFailedError,
    NoWorkerError,
    TooLongError,
    WorkerPool,
)
from storage.files import LabFolder
from storage.records import Visibility

MAX_ENVIRONMENT_CODE = 64 << 10
"""The maximum length of the code of an environment, in characters."""

_NAMES = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
_VERSION_SUFFIX = re.compile(r"-v[0-9]+$", re.ASCII)
_MAX_NAME_LENGTH = 40
_MAX_VERSIONS = 200
_MAX_PER_USER = 100
_WITHIN_S = 90.0

_log = logging.getLogger(__name__)


class CheckUnavailableError(AccessError):
    """No worker is available for the check."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_worker"


class InvalidEnvironmentError(InputError):
    """An environment can't be saved, because its check found an error."""

    code = "invalid_code"

    def __init__(self, findings: Sequence[messages.Finding]) -> None:
        super().__init__(_first_error(findings).message, field="code")
        self.findings = findings


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable version of an environment."""

    number: int
    code: str
    """Empty if deleted; runs that used it have a copy."""
    created_at: datetime
    described: messages.Described
    findings: tuple[messages.Finding, ...]
    steps_per_second: float | None = None


class CustomEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """A custom environment with its versions, oldest first."""

    name: str
    owner: str | None
    visibility: Visibility
    versions: tuple[Version, ...]

    @property
    def shared_with(self) -> tuple[str, ...]:
        """Always empty: an environment is shared with everyone or with no one."""
        return ()

    @property
    def newest(self) -> Version:
        """The version offered for new runs."""
        return self.versions[-1]

    @property
    def exists(self) -> bool:
        """Whether it has not been deleted."""
        return bool(self.newest.code)

    def id_of(self, version: Version) -> str:
        """Return the environment id of a version."""
        return f"{CUSTOM_PREFIX}{self.name}-v{version.number}"


class CustomEnvironments:
    """Checks, stores and shares custom environments."""

    def __init__(
        self,
        folder: LabFolder,
        pool: WorkerPool,
        code: CodePolicy,
    ) -> None:
        self.changed = Event[[]]()
        """Emitted when an environment or a version was added, changed or deleted."""
        self._folder = folder
        self._pool = pool
        self._code = code
        self._known: dict[str, CustomEnvironment] = {}
        self._attempts = Attempts(30, within_s=60)
        self._one_at_a_time = asyncio.Lock()

    async def open(self) -> None:
        """Read the stored environments."""
        found = await asyncio.to_thread(self._folder.read_custom_environments)
        for name, content in found.items():
            try:
                self._remember(msgspec.json.decode(content, type=CustomEnvironment))
            except msgspec.MsgspecError as error:
                _log.warning("The environment %s can't be read: %s", ascii(name), error)

    def list(self, principal: Principal) -> Sequence[CustomEnvironment]:
        """Return the environments that a principal may see, sorted by name."""
        principal.check()
        visible = (one for one in self._known.values() if one.exists and principal.sees(one))
        return sorted(visible, key=lambda one: one.name)

    def specs(self, principal: Principal) -> Sequence[EnvSpec]:
        """Return the descriptions of the newest versions, as in the catalogue."""
        return [_spec(one, one.newest) for one in self.list(principal)]

    def get(self, principal: Principal, name: str) -> CustomEnvironment:
        """Return an environment.

        Raises:
            UnknownThingError: if it does not exist, or the principal may not see it.
        """
        principal.check()
        found = self._known.get(name)
        if found is None or not found.exists or not principal.sees(found):
            raise UnknownThingError(f"You have no environment {name[:80]!r}.")
        return found

    def owner_of(self, env_id: str) -> str | None:
        """Return the id of the owner of an environment, if known."""
        found = self._known.get(env_id.removeprefix(CUSTOM_PREFIX).rpartition("-v")[0])
        return found.owner if found is not None else None

    def check_sees(self, principal: Principal, env_id: str) -> None:
        """Check that a principal may use a custom environment; ignore all others.

        Raises:
            InputError: if they may not, or it does not exist.
        """
        name, _, number = env_id.removeprefix(CUSTOM_PREFIX).rpartition("-v")
        if not env_id.startswith(CUSTOM_PREFIX):
            return
        found = self._known.get(name)
        versions = {str(version.number): version for version in found.versions} if found else {}
        if found is None or number not in versions or not principal.sees(found):
            raise InputError(
                f"There is no environment {env_id[:80]!r}, or it isn't shared with you.",
                field="env_id",
            )

    async def check(self, principal: Principal, code: str) -> messages.Inspected:
        """Check the code of an environment in a sandboxed worker.

        Raises:
            AccessError: if the principal may not submit code, or no worker is available.
        """
        inspected, _ = await self._inspect(principal, code)
        return inspected

    async def create(self, principal: Principal, name: str, code: str) -> CustomEnvironment:
        """Store a new environment, visible only to its owner.

        Raises:
            AccessError: if the principal may not submit code.
            InputError: if the name or the code is not allowed.
        """
        principal.check_works()
        _check_name(name)
        self._check_free(name)
        if sum(one.owner == principal.id for one in self._known.values()) >= _MAX_PER_USER:
            raise InputError(f"You have {_MAX_PER_USER} environments. Delete one first.")
        inspected, preview = await self._inspect(principal, code)
        async with self._one_at_a_time:
            self._check_free(name)
            deleted = self._known[name].versions if name in self._known else ()
            empty = CustomEnvironment(
                name=name, owner=principal.id, visibility=Visibility.PRIVATE, versions=deleted
            )
            return await self._add(empty, code, inspected, preview)

    async def add_version(self, principal: Principal, name: str, code: str) -> CustomEnvironment:
        """Store a new version; runs with earlier ones are not affected.

        Raises:
            AccessError: if the principal may not change it.
            InputError: if the code is not allowed.
        """
        self._changeable(principal, name)
        inspected, preview = await self._inspect(principal, code)
        async with self._one_at_a_time:
            before = self._changeable(principal, name)
            if before.newest.code == code:
                return before
            if len(before.versions) >= _MAX_VERSIONS:
                raise InputError(
                    f"{name} has {_MAX_VERSIONS} versions. Create another environment."
                )
            return await self._add(before, code, inspected, preview)

    async def share(
        self, principal: Principal, name: str, visibility: Visibility
    ) -> CustomEnvironment:
        """Change who may use it: everyone, or only the owner."""
        async with self._one_at_a_time:
            before = self._changeable(principal, name)
            return await self._save(msgspec.structs.replace(before, visibility=visibility))

    async def delete(self, principal: Principal, name: str) -> None:
        """Delete the code of all versions; runs keep copies, version numbers aren't reused."""
        async with self._one_at_a_time:
            before = self._changeable(principal, name)
            emptied = tuple(msgspec.structs.replace(one, code="") for one in before.versions)
            await self._save(msgspec.structs.replace(before, versions=emptied))

    def _changeable(self, principal: Principal, name: str) -> CustomEnvironment:
        found = self.get(principal, name)
        principal.check_works()
        if not principal.changes(found):
            raise ForbiddenError(f"{name} is not yours. Only its owner may change it.")
        return found

    def _check_free(self, name: str) -> None:
        if name in self._known and self._known[name].exists:
            raise InputError(
                f"There is an environment {name!r} already. Choose another name.", field="name"
            )

    async def _inspect(
        self, principal: Principal, code: str
    ) -> tuple[messages.Inspected, bytes | None]:
        await self._code.check(principal, "an environment")
        if not code.strip() or len(code) > MAX_ENVIRONMENT_CODE:
            raise InputError(
                f"code must have 1 to {MAX_ENVIRONMENT_CODE:,} characters.", field="code"
            )
        self._attempts.add(principal.id, what="checks")
        command = commands.Inspect(env_id=f"{CUSTOM_PREFIX}checked-v0", env_code=code)
        slot = self._pool.side_slots.priority_slot()
        try:
            async with self._pool.job(command, slot=slot, within_s=_WITHIN_S) as job:
                inspected = await job.answer(messages.Inspected)
                if not inspected.has_preview:
                    return inspected, None
                return inspected, await job.file("preview.png", at_most=MAX_IMAGE_BYTES)
        except TooLongError as error:
            return _failed(f"The check was stopped: {error}. Make a step faster."), None
        except UserCodeError as error:
            return _failed(f"{error}.", error.line), None
        except JobFailedError as error:
            return _failed(str(error), error.line), None
        except NoWorkerError as error:
            raise CheckUnavailableError(f"There is no worker for the check ({error}).") from error
        except JobError as error:
            return _failed(f"The check did not finish: {error}."), None

    async def _add(
        self,
        before: CustomEnvironment,
        code: str,
        inspected: messages.Inspected,
        preview: bytes | None,
    ) -> CustomEnvironment:
        if inspected.described is None:
            raise InvalidEnvironmentError(inspected.findings)
        version = Version(
            number=before.versions[-1].number + 1 if before.versions else 1,
            code=code,
            created_at=datetime.now(UTC),
            described=inspected.described,
            findings=inspected.findings,
            steps_per_second=inspected.steps_per_second,
        )
        if preview is not None:
            env_id = before.id_of(version)
            await asyncio.to_thread(self._folder.save_preview, env_id, preview)
        extended = msgspec.structs.replace(before, versions=(*before.versions, version))
        return await self._save(extended)

    async def _save(self, one: CustomEnvironment) -> CustomEnvironment:
        content = msgspec.json.encode(one)
        await asyncio.to_thread(self._folder.save_custom_environment, one.name, content)
        self._remember(one)
        self.changed.emit()
        return one

    def _remember(self, one: CustomEnvironment) -> None:
        self._known[one.name] = one
        for version in one.versions:
            register_environment(_spec(one, version), {})


def _spec(one: CustomEnvironment, version: Version) -> EnvSpec:
    return replace(
        spec_of(one.id_of(version), version.described),
        name=f"{one.name} v{version.number}",
        family="written here",
        description="A custom environment of this lab.",
        options=(),
        code=version.code or None,
        is_deleted=not version.code,
    )


def _check_name(name: str) -> None:
    is_valid = _NAMES.fullmatch(name) and len(name) <= _MAX_NAME_LENGTH
    if not is_valid or _VERSION_SUFFIX.search(name) or name == "check":
        raise InputError(
            f"name must be 1 to {_MAX_NAME_LENGTH} lower-case letters, digits and single hyphens, "
            "begin with a letter, and not end like a version (-v1).",
            field="name",
        )


def _first_error(findings: Sequence[messages.Finding]) -> messages.Finding:
    errors = [one for one in findings if one.level == "error"]
    return errors[0] if errors else findings[-1]


def _failed(message: str, line: int | None = None) -> messages.Inspected:
    text = message[: messages.MAX_TEXT]
    return messages.Inspected(
        findings=(messages.Finding(check="loading", level="error", message=text, line=line),)
    )
