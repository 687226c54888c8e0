"""The trainer as one visitor may use it: every call checks again who asks and whether they may."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import msgspec

from app.accounts.audit_log import AuditLog
from app.accounts.directory import Directory
from app.accounts.disk_use import DiskUse
from app.accounts.errors import ForbiddenError, OverLimitError
from app.accounts.requests import plain_email
from app.accounts.visitors import Visitor
from app.errors import InputError
from app.events import Event
from app.training.config import RunRequest
from app.training.feed import RunFeed
from app.training.groups import GroupPoint
from app.training.trainer import Trainer
from storage import metrics
from storage.errors import RunNotFoundError
from storage.records import EventRecord, JsonObject, Page, RunFilter, RunRecord, Visibility
from storage.run_folder import RunFolder

_MB = 1 << 20


class PersonalTrainer:
    """What `Trainer` does, for one visitor; pages and the API have no other way to it."""

    def __init__(
        self,
        trainer: Trainer,
        visitor: Visitor,
        *,
        directory: Directory,
        disk: DiskUse,
        audit: AuditLog,
    ) -> None:
        self.visitor = visitor
        self.load_changed = trainer.load_changed
        self._trainer = trainer
        self._directory = directory
        self._disk = disk
        self._audit = audit

    @property
    def limit(self) -> int:
        """How many runs may train at once."""
        return self._trainer.limit

    @property
    def queued(self) -> int:
        """How many runs wait for a worker."""
        return self._trainer.queued

    @property
    def active(self) -> int:
        """How many runs have a worker."""
        return self._trainer.active

    @cached_property
    def run_changed(self) -> Event[[RunRecord]]:
        """A run that the visitor may look at moved to another status."""
        seen = Event[[RunRecord]]()

        def tell(run: RunRecord) -> None:
            if self.visitor.sees(run):
                seen.emit(run)

        self._trainer.run_changed.subscribe(tell)
        return seen

    @property
    def run_deleted(self) -> Event[[str]]:
        """A run was deleted; whose id that was tells nobody anything."""
        return self._trainer.run_deleted

    async def create(self, request: RunRequest) -> RunRecord:
        """Make a run of the visitor's own; see `Trainer.create`."""
        await self._check_may_create(request)
        run = await self._trainer.create(request, owner=self._me)
        await self._note("run_created", run)
        return run

    async def create_group(self, request: RunRequest) -> list[RunRecord]:
        """Make one run for each seed; see `Trainer.create_group`."""
        await self._check_may_create(request)
        made = await self._trainer.create_group(request, owner=self._me)
        for run in made:
            await self._note("run_created", run)
        return made

    async def start(self, run_id: str) -> RunRecord:
        """Put a run into the queue."""
        return await self._trainer.start(await self._changeable(run_id, uses_disk=True))

    async def pause(self, run_id: str) -> RunRecord:
        """Let a run wait."""
        return await self._trainer.pause(await self._changeable(run_id))

    async def resume(self, run_id: str) -> RunRecord:
        """Let a run go on."""
        return await self._trainer.resume(await self._changeable(run_id, uses_disk=True))

    async def stop(self, run_id: str) -> RunRecord:
        """End a run soon and keep its model."""
        return await self._trainer.stop(await self._changeable(run_id))

    async def change(self, run_id: str, **values: Any) -> RunRecord:
        """Change a run's name, notes, tags_json or archived."""
        return await self._trainer.change(await self._changeable(run_id), **values)

    async def adjust(self, run_id: str, wishes: Mapping[str, Any]) -> RunRecord:
        """Change how a run goes on."""
        return await self._trainer.adjust(await self._changeable(run_id), wishes)

    async def share(
        self,
        run_id: str,
        *,
        visibility: Visibility | None = None,
        shared_with: Sequence[str] | None = None,
    ) -> RunRecord:
        """Let others look at a run: everyone, or the people with these addresses.

        Raises:
            InputError: if nobody has one of the addresses.
        """
        await self._changeable(run_id)
        values: dict[str, Any] = {} if visibility is None else {"visibility": visibility}
        if shared_with is not None:
            values["shared_json"] = [self._person_id(email) for email in shared_with]
        self.visitor.me  # noqa: B018 - raises where there is nobody to share with
        run = await self._trainer.change(run_id, **values)
        data = {"visibility": run.visibility, "people": len(run.shared_with)}
        await self._note("run_shared", run, data)
        return run

    async def delete(self, run_id: str) -> None:
        """Take a run and its files away."""
        run = await self._trainer.get(run_id)
        self.visitor.check_changes(run)
        await self._trainer.delete(run_id)
        await self._note("run_deleted", run)

    async def restore(self, run: RunRecord) -> RunRecord:
        """Bring a deleted run back."""
        self.visitor.check_changes(run)
        return await self._trainer.restore(run.id)

    async def get(self, run_id: str) -> RunRecord:
        """Return a run with its newest numbers."""
        run = await self._trainer.get(run_id)
        self.visitor.check_sees(run)
        return run

    async def list(self, wanted: RunFilter, **order: Any) -> Page[RunRecord]:
        """Return a page of the runs that the visitor may look at."""
        return await self._trainer.list(self._seen(wanted), **order)

    async def group(self, group_id: str) -> Sequence[RunRecord]:
        """Return the runs of a seed group that the visitor may look at."""
        members = await self._trainer.group(group_id)
        seen = [run for run in members if self.visitor.sees(run)]
        self.visitor.check()
        if not seen:
            raise ForbiddenError(f"The group {group_id[:40]!r} is not yours.")
        return seen

    async def group_curve(self, members: Sequence[RunRecord]) -> Sequence[GroupPoint]:
        """Return how the runs of a group went, taken together."""
        return await self._trainer.group_curve(members)

    async def newest(self) -> RunRecord | None:
        """Return the run that the visitor wants to see first, if there is any."""
        self.visitor.check()
        return await self._trainer.newest(self._seen(RunFilter()))

    async def feed(self, run_id: str) -> RunFeed:
        """Return what a run looks like right now, and news about it."""
        feed = await self._trainer.feed(run_id)
        self.visitor.check_sees(feed.run)
        return feed

    async def events(self, run_id: str, **bounds: Any) -> tuple[EventRecord, ...]:
        """Return a run's event log, newest first."""
        await self.get(run_id)
        return await self._trainer.events(run_id, **bounds)

    async def events_after(self, run_id: str, after: int) -> tuple[EventRecord, ...]:
        """Return the next part of a run's event log, oldest first."""
        return await self._trainer.events_after(run_id, after)

    async def read_on(self, reader: metrics.LineReader, limit: int) -> Sequence[msgspec.Raw]:
        """Read on in a run's metrics."""
        return await self._trainer.read_on(reader, limit)

    async def shape(
        self, run_id: str, names: Sequence[str], max_points: int
    ) -> Sequence[JsonObject]:
        """Return how some metrics of a run went, in at most so many points each."""
        await self.get(run_id)
        return await self._trainer.shape(run_id, names, max_points)

    def folder(self, run_id: str) -> RunFolder:
        """Return the files of a run that the visitor was given."""
        return self._trainer.folder(run_id)

    def owner_of(self, run: RunRecord) -> str | None:
        """Return the address of a run's owner."""
        return self._directory.email_of(run.owner)

    def readers_of(self, run: RunRecord) -> Sequence[str] | None:
        """Return with whom a run is shared, for who may change that."""
        me = self.visitor.person
        if me is None or (run.owner != me.id and not me.is_admin):
            return None
        found = (self._directory.email_of(person_id) for person_id in run.shared_with)
        return [email for email in found if email is not None]

    @property
    def _me(self) -> str | None:
        return None if self.visitor.person is None else self.visitor.person.id

    def _seen(self, wanted: RunFilter) -> RunFilter:
        self.visitor.check()
        if self.visitor.person is None:
            return wanted
        if wanted.owner is not None:
            owner = self._directory.find(plain_email(wanted.owner))
            wanted = replace(wanted, owner=owner.id if owner else wanted.owner)
        return wanted if self.visitor.is_admin else replace(wanted, seen_by=self._me)

    async def _changeable(self, run_id: str, *, uses_disk: bool = False) -> str:
        run = await self._trainer.get(run_id)
        self.visitor.check_changes(run)
        if uses_disk:
            await self._check_disk(run.owner)
        return run_id

    async def _check_may_create(self, request: RunRequest) -> None:
        self.visitor.check_works()
        await self._check_disk(self._me)
        if request.init_from is not None:
            source = request.init_from.partition("@")[0]
            try:
                seen = self.visitor.sees(await self._trainer.get(source))
            except RunNotFoundError:
                return  # The trainer says so, in its words.
            if not seen:
                raise InputError(str(RunNotFoundError(source)), field="init_from")

    async def _check_disk(self, owner: str | None) -> None:
        allowed = self._directory.limits_of(owner).disk_mb
        if owner is None or allowed is None:
            return
        used = (await self._disk.by_owner()).get(owner, 0)
        if used >= allowed * _MB:
            raise OverLimitError(
                f"These runs use {used / _MB:,.0f} MB of {allowed:,} MB. Delete some first."
            )

    def _person_id(self, email: str) -> str:
        person = self._directory.find(plain_email(email))
        if person is None:
            raise InputError(f"Nobody here has the address {email[:80]!r}.", field="shared_with")
        return person.id

    async def _note(self, action: str, run: RunRecord, data: JsonObject | None = None) -> None:
        if self.visitor.person is not None:
            await self._audit.note(self.visitor, action, run.id, data or {"name": run.name})
