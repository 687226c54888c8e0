"""The trainer as one visitor may use it: every call checks again who asks and whether they may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from app.access.evaluation_access import EvaluationAccess
from app.access.history_access import HistoryAccess
from app.access.sharing_access import SharingAccess
from app.accounts.access.code_policy import CodePolicy
from app.accounts.errors import HiddenError, OverLimitError
from app.accounts.limits.disk_use import DiskUse
from app.accounts.requests import plain_email
from app.accounts.users.accounts import Accounts
from app.accounts.visitors import Visitor
from app.analysis.doctor.doctor import Doctor
from app.analysis.insights.insight import Insight
from app.analysis.report.content import Report
from app.analysis.report.gathering import Told, tell_nobody
from app.analysis.report.reports import Reports
from app.catalog.environments.spec import EnvSpec
from app.core.errors import InputError
from app.core.events import Event
from app.evaluation.service import Evaluations
from app.run_config.config import RunRequest
from app.runs.branching import BranchRequest, branch_request, make_branch
from app.runs.groups import GroupPoint
from app.runs.service import RunService
from app.runs.state.feed import RunFeed
from app.runs.stored_policies import PolicyAddress
from app.sharing.sharing import Sharing
from storage.errors import GroupNotFoundError, RunNotFoundError
from storage.files.run_folder import RunFolder
from storage.metrics import metrics
from storage.records.curves import Curves, View
from storage.records.runs import (
    EventRecord,
    JsonObject,
    Page,
    RunFilter,
    RunRecord,
    RunStatus,
    Visibility,
)

_MB = 1 << 20
_LONGEST_NOTE = 1_000


@dataclass(frozen=True, slots=True)
class Beside:
    """What else the lab does with runs."""

    evaluations: Evaluations
    sharing: Sharing
    doctor: Doctor
    reports: Reports


class RunAccess:
    """What `RunService` does, for one visitor; pages and the API have no other way to it."""

    def __init__(
        self,
        trainer: RunService,
        visitor: Visitor,
        *,
        accounts: Accounts,
        disk: DiskUse,
        beside: Beside,
        code: CodePolicy,
    ) -> None:
        self.visitor = visitor
        self.evaluations = EvaluationAccess(beside.evaluations, self)
        self.sharing = SharingAccess(beside.sharing, self)
        self.history = HistoryAccess(trainer.history, accounts.directory, seen=self._seen)
        self.load_changed = trainer.load_changed
        self._trainer = trainer
        self._doctor, self._reports = beside.doctor, beside.reports
        self._accounts = accounts
        self._directory = accounts.directory
        self._disk = disk
        self._audit = accounts.audit
        self._code = code

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
    def insights_changed(self) -> Event[[str]]:
        """The findings about a run are others; whose id that is tells nobody anything."""
        return self._doctor.changed

    @property
    def run_deleted(self) -> Event[[str]]:
        """A run was deleted; whose id that was tells nobody anything."""
        return self._trainer.run_deleted

    async def create(self, request: RunRequest) -> RunRecord:
        """Make a run of the visitor's own; see `RunService.create`."""
        await self._check_may_create(request)
        run = await self._trainer.create(request, owner=self._me)
        await self._note("run_created", run)
        return run

    async def create_group(self, request: RunRequest) -> list[RunRecord]:
        """Make one run for each seed; see `RunService.create_group`."""
        await self._check_may_create(request)
        made = await self._trainer.create_group(request, owner=self._me)
        for run in made:
            await self._note("run_created", run)
        return made

    async def branch(self, run_id: str, wish: BranchRequest) -> RunRecord:
        """Make a run of the visitor's own that goes on from another with another reward."""
        run = await self.get(run_id)
        request = branch_request(run, wish)
        await self._check_may_create(request)
        tells = self.visitor.changes(run)
        made = await make_branch(self._trainer, run, request, owner=self._me, tells=tells)
        await self._note("run_created", made)
        return made

    async def check_may_write_code(self, what: str) -> None:
        """Make sure that the visitor may give code; `what` names it ("a reward function").

        Raises:
            AccessError: if they may not; the message says why and what helps.
        """
        await self._code.check(self.visitor, what)

    async def code_refusal(self) -> str | None:
        """Say why the visitor may not give code, None if they may."""
        return await self._code.refusal(self.visitor)

    async def start(self, run_id: str) -> RunRecord:
        """Put a run into the queue."""
        run = await self._trainable(run_id)
        started = await self._trainer.start(run.id)
        await self._note_of_anothers("run_started", run)
        return started

    async def pause(self, run_id: str) -> RunRecord:
        """Let a run wait."""
        run = await self._changeable(run_id)
        paused = await self._trainer.pause(run.id)
        await self._note_of_anothers("run_paused", run)
        return paused

    async def resume(self, run_id: str) -> RunRecord:
        """Let a run go on."""
        run = await self._trainable(run_id)
        resumed = await self._trainer.resume(run.id)
        await self._note_of_anothers("run_resumed", run)
        return resumed

    async def stop(self, run_id: str) -> RunRecord:
        """End a run soon and keep its model."""
        run = await self._changeable(run_id)
        stopped = await self._trainer.stop(run.id)
        await self._note_of_anothers("run_stopped", run)
        return stopped

    async def change(self, run_id: str, **values: Any) -> RunRecord:
        """Change a run's name, notes, tags_json or archived."""
        run = await self._changeable(run_id)
        changed = await self._trainer.change(run.id, **values)
        if values:
            await self._note_of_anothers("run_changed", run, values)
        return changed

    async def adjust(self, run_id: str, wishes: Mapping[str, Any]) -> RunRecord:
        """Change how a run goes on."""
        run = await self._changeable(run_id)
        adjusted = await self._trainer.adjust(run.id, wishes)
        await self._note_of_anothers("run_changed", run, wishes)
        return adjusted

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
        reader_ids = await self.check_may_share(run_id, shared_with or ())
        values: dict[str, Any] = {} if visibility is None else {"visibility": visibility}
        if shared_with is not None:
            values["shared_json"] = reader_ids
        run = await self._trainer.change(run_id, **values)
        readers = ", ".join(self.readers_of(run) or ())[:_LONGEST_NOTE]
        await self._note(
            "run_shared", run, {"visibility": run.visibility, "people": readers or "-"}
        )
        return run

    async def check_may_share(self, run_id: str, shared_with: Sequence[str]) -> Sequence[str]:
        """Return the ids of the people with these addresses if a run may be shared with them.

        Raises:
            InputError: if nobody has one of the addresses.
        """
        run = await self._changeable(run_id)
        reader_ids = dict.fromkeys(self._person_id(email) for email in shared_with)
        self.visitor.me  # noqa: B018 - raises where there is nobody to share with
        return [one for one in reader_ids if one != run.owner]

    async def delete(self, run_id: str) -> None:
        """Take a run and its files away."""
        run = await self._trainer.get(run_id)
        self.visitor.check_changes(run)
        await self._trainer.delete(run_id)
        await self._note("run_deleted", run)

    async def restore(self, run: RunRecord) -> RunRecord:
        """Bring a deleted run back."""
        self.visitor.check_changes(run)
        restored = await self._trainer.restore(run.id)
        await self._note("run_restored", restored)
        return restored

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
            raise HiddenError(str(GroupNotFoundError(group_id)))
        return seen

    async def family(self, run_id: str) -> Sequence[RunRecord]:
        """Return a run with all it came of and all that came of those, as far as seen."""
        await self.get(run_id)
        return [run for run in await self._trainer.family(run_id) if self.visitor.sees(run)]

    async def group_curve(self, members: Sequence[RunRecord]) -> Sequence[GroupPoint]:
        """Return how the runs of a group went, taken together."""
        return await self._trainer.group_curve(members)

    async def newest(self) -> RunRecord | None:
        """Return the run that the visitor wants to see first, if there is any."""
        self.visitor.check()
        return await self._trainer.newest(self._seen(RunFilter()))

    async def best(self, spec: EnvSpec) -> RunRecord | None:
        """Return the run that scored best in an environment, of those the visitor may look at."""
        return await self._trainer.best(spec, self._seen(RunFilter()))

    async def solved(self) -> frozenset[str]:
        """Return the environments that runs of the visitor's own have solved."""
        self.visitor.check()
        return await self._trainer.solved(RunFilter(owner=self._me, archived=None))

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

    async def curves(self, run_id: str, view: View) -> Curves:
        """Return how some metrics of a run went, as closely as a view wants it."""
        await self.get(run_id)
        return await self._trainer.curves(run_id, view)

    async def place_in_queue(self, run_id: str) -> int | None:
        """Return how many runs are before one, itself included; None if it doesn't wait."""
        await self.get(run_id)
        return await self._trainer.place_in_queue(run_id)

    async def changeable(self, run_id: str, *, uses_disk: bool = False) -> str:
        """Return the id of a run whose evaluations the visitor may change, and note who does.

        Raises:
            AccessError: if they may not, or have no room for more.
        """
        run = await self._changeable(run_id, uses_disk=uses_disk)
        await self._note_of_anothers("run_evaluations_changed", run)
        return run.id

    async def changeable_run(self, run_id: str, *, doing: str) -> RunRecord:
        """Return a run that the visitor may change, and note what an administrator does with it.

        Raises:
            AccessError: if they may not.
        """
        run = await self._changeable(run_id)
        await self._note_of_anothers(doing, run)
        return run

    async def room(self) -> int | None:
        """Return how many bytes more the visitor's runs may take; None: there is no limit.

        Raises:
            OverLimitError: if it is none.
        """
        await self._check_disk(self._me)
        allowed = self._directory.limits_of(self._me).disk_mb
        if self._me is None or allowed is None:
            return None
        return allowed * _MB - (await self._disk.by_owner()).get(self._me, 0)

    async def note_sharing(self, action: str, run: RunRecord, **data: str) -> None:
        """Note what the visitor did with a run of their own, too."""
        await self._note(action, run, data)

    def saved_token(self) -> str | None:
        """Return the Hugging Face token of the visitor's profile, if it has one."""
        has_profile = self.visitor.person is not None
        return self._accounts.profiles.hf_token_of(self.visitor) if has_profile else None

    async def insights(self, run_id: str) -> Sequence[Insight]:
        """Return what the doctor has found, the most important first."""
        return await self._doctor.insights(await self.get(run_id))

    async def report(self, run_id: str, *, told: Told = tell_nobody) -> Report:
        """Return all that there is to say about a run; `told` hears how far it has come."""
        run = await self.get(run_id)
        insights = await self._doctor.insights(run)
        return await self._reports.make(run, insights, told=told)

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

    async def _trainable(self, run_id: str) -> RunRecord:
        """Return a run that the visitor may let a worker do, its code included."""
        run = await self._changeable(run_id, uses_disk=True)
        if run.config.get("reward_code") is not None and run.status is not RunStatus.PAUSED:
            await self.check_may_write_code("a reward function")
        return run

    async def _changeable(self, run_id: str, *, uses_disk: bool = False) -> RunRecord:
        run = await self._trainer.get(run_id)
        self.visitor.check_changes(run)
        if uses_disk:
            await self._check_disk(run.owner)
        return run

    async def _check_may_create(self, request: RunRequest) -> None:
        self.visitor.check_works()
        self._trainer.environments.check_sees(self.visitor, request.env_id)
        if request.reward_code is not None:
            await self.check_may_write_code("a reward function")
        await self._check_disk(self._me)
        if request.init_from is not None:
            source = PolicyAddress.parse(request.init_from).run_id
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
            owner = {} if run.owner == self._me else {"owner": self.owner_of(run) or "-"}
            what = data or {"name": run.name}
            await self._audit.note(self.visitor, action, run.id, {**what, **owner})

    async def _note_of_anothers(
        self, action: str, run: RunRecord, changed: Mapping[str, Any] | None = None
    ) -> None:
        """Note what an administrator did with somebody else's run; of changes only the names."""
        if run.owner != self._me:
            names = ", ".join(sorted(name.removesuffix("_json") for name in changed or ()))
            await self._note(action, run, {"changed": names} if names else None)
