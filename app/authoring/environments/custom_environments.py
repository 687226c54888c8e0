"""Environments that people write here: checked in a worker, kept in versions, played like others.

Their code is never run in this process. It travels with every job that needs it, and each run
keeps a copy of the version that it uses.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus

import msgspec

from app.accounts.access.code_policy import CodePolicy
from app.accounts.errors import AccessError, ForbiddenError, UnknownThingError
from app.accounts.limits.attempts import Attempts
from app.accounts.visitors import Visitor
from app.catalog.environments.catalogue import CUSTOM, remember
from app.catalog.environments.spec import EnvSpec
from app.core.errors import InputError
from app.core.events import Event
from app.discovery.environment_finder import EnvironmentFinder, spec_of
from app.protocol import commands, messages
from app.protocol.user_code import UserCodeError
from app.workers.errors import JobError, JobFailedError, NoWorkerError, TooLongError
from app.workers.pool import LARGEST_PICTURE, WorkerPool
from storage.files.lab_folder import LabFolder
from storage.records.runs import Visibility

LONGEST_CODE = 64 << 10
"""How many characters the file of an environment may have."""

_NAMES = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
_ENDS_LIKE_A_VERSION = re.compile(r"-v[0-9]+$", re.ASCII)
_LONGEST_NAME = 40
_MOST_VERSIONS = 200
_MOST_OF_ONE = 100
_WITHIN_S = 90.0

_log = logging.getLogger(__name__)


class NotNowError(AccessError):
    """There is no worker to check it."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_worker"


class SpoiltEnvironmentError(InputError):
    """An environment can't be kept, because its check found an error."""

    code = "invalid_code"

    def __init__(self, findings: Sequence[messages.Finding]) -> None:
        super().__init__(_worst(findings).message, field="code")
        self.findings = findings


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One state of an environment; it never changes."""

    number: int
    code: str
    """Empty once it was deleted; runs that used it keep a copy."""
    created_at: datetime
    described: messages.Described
    findings: tuple[messages.Finding, ...]
    steps_per_second: float | None = None


class CustomEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """An environment that somebody wrote, oldest version first."""

    name: str
    owner: str | None
    visibility: Visibility
    versions: tuple[Version, ...]

    @property
    def newest(self) -> Version:
        """The version that is offered."""
        return self.versions[-1]

    @property
    def is_there(self) -> bool:
        """Whether it wasn't deleted."""
        return bool(self.newest.code)

    def id_of(self, version: Version) -> str:
        """Return the id that runs know a version by."""
        return f"{CUSTOM}{self.name}-v{version.number}"


class CustomEnvironments:
    """Keeps them, and knows who may see and change which."""

    def __init__(
        self,
        folder: LabFolder,
        pool: WorkerPool,
        code: CodePolicy,
        environments: EnvironmentFinder,
    ) -> None:
        self.changed = Event[[]]()
        """There is another one, another version, or one less."""
        self._folder = folder
        self._pool = pool
        self._code = code
        self._known: dict[str, CustomEnvironment] = {}
        self._attempts = Attempts(30, within_s=60)
        self._one_at_a_time = asyncio.Lock()
        environments.check_sees = self.check_sees

    async def open(self) -> None:
        """Read what was written before the server was started."""
        found = await asyncio.to_thread(self._folder.read_custom_environments)
        for name, content in found.items():
            try:
                self._put(msgspec.json.decode(content, type=CustomEnvironment))
            except msgspec.MsgspecError as error:
                _log.warning("The environment %s can't be read: %s", ascii(name), error)

    def list(self, visitor: Visitor) -> Sequence[CustomEnvironment]:
        """Return those that a visitor may see, by name."""
        visitor.check()
        seen = (one for one in self._known.values() if one.is_there and _sees(visitor, one))
        return sorted(seen, key=lambda one: one.name)

    def specs(self, visitor: Visitor) -> Sequence[EnvSpec]:
        """Return the newest version of each, as the catalogue has environments."""
        return [_spec(one, one.newest) for one in self.list(visitor)]

    def get(self, visitor: Visitor, name: str) -> CustomEnvironment:
        """Return one that a visitor may see.

        Raises:
            UnknownThingError: if there is none, or none for them.
        """
        visitor.check()
        found = self._known.get(name)
        if found is None or not found.is_there or not _sees(visitor, found):
            raise UnknownThingError(f"There is no environment {name[:80]!r} of your own here.")
        return found

    def changes(self, visitor: Visitor, one: CustomEnvironment) -> bool:
        """Whether a visitor may change it."""
        is_own = visitor.is_admin or (visitor.person is not None and one.owner == visitor.person.id)
        return is_own and visitor.may_work

    def owner_of(self, env_id: str) -> str | None:
        """Return who wrote an environment, as far as that is known."""
        found = self._known.get(env_id.removeprefix(CUSTOM).rpartition("-v")[0])
        return found.owner if found is not None else None

    def check_sees(self, visitor: Visitor, env_id: str) -> None:
        """Make sure that a visitor may use an environment, if it is one of these.

        Raises:
            InputError: if they may not, or it isn't there any more.
        """
        name, _, number = env_id.removeprefix(CUSTOM).rpartition("-v")
        if not env_id.startswith(CUSTOM):
            return
        found = self._known.get(name)
        versions = {str(version.number): version for version in found.versions} if found else {}
        if found is None or number not in versions or not _sees(visitor, found):
            raise InputError(
                f"There is no environment {env_id[:80]!r}, or it isn't shared with you.",
                field="env_id",
            )

    async def check(self, visitor: Visitor, code: str) -> messages.Inspected:
        """Try an environment in a locked worker, and say what was found.

        Raises:
            AccessError: if the visitor may not give code, or there is no worker for it.
        """
        found, _ = await self._inspect(visitor, code)
        return found

    async def create(self, visitor: Visitor, name: str, code: str) -> CustomEnvironment:
        """Keep a new environment; its first version is private.

        Raises:
            AccessError: if the visitor may not give code.
            InputError: if the name or the code can't be used.
        """
        visitor.check_works()
        _check_name(name)
        self._check_free(name)
        owner = None if visitor.person is None else visitor.person.id
        if sum(one.owner == owner for one in self._known.values()) >= _MOST_OF_ONE:
            raise InputError(f"You have {_MOST_OF_ONE} environments. Delete one first.")
        found, picture = await self._inspect(visitor, code)
        async with self._one_at_a_time:
            self._check_free(name)
            gone = self._known[name].versions if name in self._known else ()
            wanted = CustomEnvironment(
                name=name, owner=owner, visibility=Visibility.PRIVATE, versions=gone
            )
            return await self._add(wanted, code, found, picture)

    async def add_version(self, visitor: Visitor, name: str, code: str) -> CustomEnvironment:
        """Keep another version; runs of earlier ones stay as they are.

        Raises:
            AccessError: if the visitor may not.
            InputError: if the code can't be used.
        """
        self._changeable(visitor, name)
        found, picture = await self._inspect(visitor, code)
        async with self._one_at_a_time:
            before = self._changeable(visitor, name)
            if before.newest.code == code:
                return before
            if len(before.versions) >= _MOST_VERSIONS:
                raise InputError(f"{name} has {_MOST_VERSIONS} versions. Begin another one.")
            return await self._add(before, code, found, picture)

    async def share(self, visitor: Visitor, name: str, visibility: Visibility) -> CustomEnvironment:
        """Let everybody use it, or nobody else."""
        async with self._one_at_a_time:
            before = self._changeable(visitor, name)
            return await self._keep(msgspec.structs.replace(before, visibility=visibility))

    async def delete(self, visitor: Visitor, name: str) -> None:
        """Take it out of the catalogue; runs keep their copies, and its numbers aren't reused."""
        async with self._one_at_a_time:
            before = self._changeable(visitor, name)
            gone = tuple(msgspec.structs.replace(one, code="") for one in before.versions)
            await self._keep(msgspec.structs.replace(before, versions=gone))

    def _changeable(self, visitor: Visitor, name: str) -> CustomEnvironment:
        found = self.get(visitor, name)
        visitor.check_works()
        if not self.changes(visitor, found):
            raise ForbiddenError(f"{name} is not yours. Only its owner may change it.")
        return found

    def _check_free(self, name: str) -> None:
        if name in self._known and self._known[name].is_there:
            raise InputError(
                f"There is an environment {name!r} already. Choose another name.", field="name"
            )

    async def _inspect(
        self, visitor: Visitor, code: str
    ) -> tuple[messages.Inspected, bytes | None]:
        await self._code.check(visitor, "an environment")
        if not code.strip() or len(code) > LONGEST_CODE:
            raise InputError(f"code must have 1 to {LONGEST_CODE:,} characters.", field="code")
        self._attempts.add(visitor.person.id if visitor.person else "", what="checks")
        command = commands.Inspect(env_id=f"{CUSTOM}checked-v0", env_code=code)
        slot = self._pool.side_slots.for_a_test()
        try:
            async with self._pool.job(command, slot=slot, within_s=_WITHIN_S) as job:
                found = await job.answer(messages.Inspected)
                if not found.has_picture:
                    return found, None
                return found, await job.file("preview.png", at_most=LARGEST_PICTURE)
        except TooLongError as error:
            return _one_error(f"The check was ended: {error}. Make a step faster."), None
        except UserCodeError as error:
            return _one_error(f"{error}.", error.line), None
        except JobFailedError as error:
            return _one_error(str(error), error.line), None
        except NoWorkerError as error:
            raise NotNowError(f"There is no worker for the check ({error}).") from error
        except JobError as error:
            return _one_error(f"The check came to no end: {error}."), None

    async def _add(
        self,
        before: CustomEnvironment,
        code: str,
        found: messages.Inspected,
        picture: bytes | None,
    ) -> CustomEnvironment:
        if found.described is None:
            raise SpoiltEnvironmentError(found.findings)
        version = Version(
            number=before.versions[-1].number + 1 if before.versions else 1,
            code=code,
            created_at=datetime.now(UTC),
            described=found.described,
            findings=found.findings,
            steps_per_second=found.steps_per_second,
        )
        if picture is not None:
            env_id = before.id_of(version)
            await asyncio.to_thread(self._folder.save_preview, env_id, picture)
        kept = msgspec.structs.replace(before, versions=(*before.versions, version))
        return await self._keep(kept)

    async def _keep(self, one: CustomEnvironment) -> CustomEnvironment:
        content = msgspec.json.encode(one)
        await asyncio.to_thread(self._folder.save_custom_environment, one.name, content)
        self._put(one)
        self.changed.emit()
        return one

    def _put(self, one: CustomEnvironment) -> None:
        self._known[one.name] = one
        for version in one.versions:
            remember(_spec(one, version), {})


def _sees(visitor: Visitor, one: CustomEnvironment) -> bool:
    if visitor.is_admin or one.visibility is Visibility.EVERYONE:
        return True
    return visitor.person is not None and one.owner == visitor.person.id


def _spec(one: CustomEnvironment, version: Version) -> EnvSpec:
    return replace(
        spec_of(one.id_of(version), version.described),
        name=f"{one.name} v{version.number}",
        family="written here",
        description="An environment that was written in this lab.",
        options=(),
        code=version.code or None,
        is_gone=not version.code,
    )


def _check_name(name: str) -> None:
    is_fine = _NAMES.fullmatch(name) and len(name) <= _LONGEST_NAME
    if not is_fine or _ENDS_LIKE_A_VERSION.search(name) or name == "check":
        raise InputError(
            f"name must be 1 to {_LONGEST_NAME} small letters, digits and single hyphens, begin "
            "with a letter, and not end like a version (-v1).",
            field="name",
        )


def _worst(findings: Sequence[messages.Finding]) -> messages.Finding:
    errors = [one for one in findings if one.level == "error"]
    return errors[0] if errors else findings[-1]


def _one_error(message: str, line: int | None = None) -> messages.Inspected:
    text = message[: messages.MAX_TEXT]
    return messages.Inspected(
        findings=(messages.Finding(check="loading", level="error", message=text, line=line),)
    )
