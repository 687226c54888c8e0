"""Access of one principal to runs: every call checks again and returns a typed proof."""

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

from app.access.readers import Readers
from app.accounts import HiddenError, Principal, plain_email
from app.accounts.access import CodePolicy
from app.accounts.limits import DiskUse
from app.accounts.users import Accounts
from app.core import InputError
from app.core.events import Event
from app.discovery import EnvironmentFinder
from app.run_config import RunRequest, config_of
from app.runs import BranchRequest, PolicyAddress, RunService, branch_request, make_branch
from storage import GroupNotFoundError, RunNotFoundError
from storage.records import (
    Allowance,
    ChangeableRun,
    JsonObject,
    RunFilter,
    RunRecord,
    RunStatus,
    SeenFilter,
    Visibility,
    VisibleRun,
)

_LONGEST_NOTE = 1_000


class Access:
    """Checks access and writes the audit log; it also creates, branches and shares runs."""

    def __init__(
        self,
        runs: RunService,
        principal: Principal,
        *,
        accounts: Accounts,
        disk: DiskUse,
        code: CodePolicy,
        environments: EnvironmentFinder,
    ) -> None:
        self.principal = principal
        self._environments = environments
        self._runs = runs
        self._all = runs.unchecked
        self._accounts = accounts
        self._directory = accounts.directory
        self.readers = Readers(principal, accounts.directory)
        self._disk = disk
        self._code = code

    async def visible(self, run_id: str) -> VisibleRun:
        """Return a run with its newest numbers.

        Raises:
            RunNotFoundError: if no run has this id.
            AccessError: if the principal may not see it.
        """
        return self.see(await self._all.get(run_id))

    async def find(self, prefix: str) -> VisibleRun:
        """Return the run whose id has this prefix, or the newest one."""
        return self.see(await self._all.find(prefix))

    def see(self, run: RunRecord) -> VisibleRun:
        """Return the proof for a run that was just read or comes from a feed.

        Raises:
            AccessError: if the principal may not see it.
        """
        self.principal.check_sees(run)
        return VisibleRun(run)

    async def changeable(
        self, run_id: str, action: str, *, uses_disk: bool = False
    ) -> ChangeableRun:
        """Return a run whose belongings are to be changed, and log `action` right away.

        Raises:
            AccessError: if the principal may not, or the disk quota is used up.
        """
        run = await self._changeable(run_id, uses_disk=uses_disk)
        await self._note_for_others_run(action, run)
        return run

    async def evaluable(
        self, run_id: str, *, uses_disk: bool = False, code: str | None = None
    ) -> ChangeableRun:
        """Return a run whose evaluations are to be changed; `code` is evaluation code to run.

        Raises:
            AccessError: if the principal may not, or the disk quota is used up.
        """
        if code is not None:
            await self.check_may_write_code("evaluation code")
        return await self.changeable(run_id, "run_evaluations_changed", uses_disk=uses_disk)

    @asynccontextmanager
    async def changing(
        self,
        run_id: str,
        action: str,
        *,
        trains: bool = False,
        changed: Collection[str] | None = None,
    ) -> AsyncIterator[ChangeableRun]:
        """Yield a run to change, and log `action` once the change has succeeded.

        `trains`: a worker will run it, including its code. `changed` names the changed fields;
        if it is empty, nothing is logged.

        Raises:
            AccessError: if the principal may not.
        """
        run = await self._changeable(run_id, uses_disk=trains)
        if trains and run.status is not RunStatus.PAUSED and config_of(run).reward_code is not None:
            await self.check_may_write_code("a reward function")
        yield run
        if changed is None or changed:
            await self._note_for_others_run(action, run, changed or ())

    @asynccontextmanager
    async def deleting(self, run_id: str) -> AsyncIterator[ChangeableRun]:
        """Yield a run to delete, and log the deletion."""
        run = await self._changeable(run_id)
        yield run
        await self.note("run_deleted", run)

    @asynccontextmanager
    async def restoring(self, run: RunRecord) -> AsyncIterator[ChangeableRun]:
        """Yield a deleted run to restore, and log that."""
        self.principal.check_changes(run)
        yield ChangeableRun(VisibleRun(run))
        await self.note("run_restored", run)

    def seen(self, run_filter: RunFilter) -> SeenFilter:
        """Narrow a filter to what the principal may see; `owner` may be an e-mail address.

        Raises:
            AccessError: if the principal is signed out.
        """
        self.principal.check()
        if self.principal.user is None:
            return SeenFilter(run_filter)
        if run_filter.owner is not None:
            owner = self._directory.find(plain_email(run_filter.owner))
            run_filter = replace(run_filter, owner=owner.id if owner else run_filter.owner)
        if not self.principal.is_admin:
            run_filter = replace(run_filter, seen_by=self.principal.id)
        return SeenFilter(run_filter)

    def own(self) -> SeenFilter:
        """Return the filter for all runs that the principal owns."""
        self.principal.check()
        return SeenFilter(RunFilter(owner=self.principal.id, archived=None))

    async def group(self, group_id: str) -> Sequence[VisibleRun]:
        """Return the runs of a seed group that the principal may see.

        Raises:
            GroupNotFoundError: if no group has this id.
            AccessError: if the principal may see none of its runs.
        """
        members = await self._all.group(group_id)
        seen = self._visible_of(members)
        self.principal.check()
        if not seen:
            raise HiddenError(str(GroupNotFoundError(group_id)))
        return seen

    async def family(self, run: VisibleRun) -> Sequence[VisibleRun]:
        """Return a run, its ancestors and all their descendants that the principal may see."""
        return self._visible_of(await self._all.family(run.id))

    def _visible_of(self, runs: Iterable[RunRecord]) -> Sequence[VisibleRun]:
        return [VisibleRun(run) for run in runs if self.principal.sees(run)]

    @cached_property
    def run_changed(self) -> Event[[RunRecord]]:
        """Event: the status of a run that the principal may see has changed."""
        visible = Event[[RunRecord]]()

        def forward(run: RunRecord) -> None:
            if self.principal.sees(run):
                visible.emit(run)

        self._all.run_changed.subscribe(forward)
        return visible

    async def create(self, *requests: RunRequest) -> list[RunRecord]:
        """Create runs that the principal owns; see `RunService.create`."""
        for request in requests:
            await self._check_may_create(request)
        runs = await self._runs.create(await self._allowance(), *requests)
        for run in runs:
            await self.note("run_created", run)
        return runs

    async def branch(self, run: VisibleRun, changes: BranchRequest) -> RunRecord:
        """Create a run that the principal owns, with another run's policy and a new reward."""
        request = branch_request(run, changes)
        await self._check_may_create(request)
        allowance, logs = await self._allowance(), self.principal.changes(run)
        branched = await make_branch(self._runs, run, request, allowance, is_logged=logs)
        await self.note("run_created", branched)
        return branched

    async def check_may_write_code(self, what: str) -> None:
        """Check that the principal may submit code; `what` names it ("a reward function").

        Raises:
            AccessError: if they may not, with the reason and a way out.
        """
        await self._code.check(self.principal, what)

    async def code_refusal(self) -> str | None:
        """Return why the principal may not submit code, or None if they may."""
        return await self._code.refusal(self.principal)

    async def allow_import(self, what: str) -> Allowance:
        """Return the permission to create a run from an import; `what` names it ("a bundle").

        Raises:
            AccessError: if the principal may not, or the disk quota is used up.
        """
        # Checkpoints and models are pickles: their author can execute any code in a worker.
        await self.check_may_write_code(what)
        return await self._allowance()

    async def check_may_share(self, run_id: str, shared_with: Sequence[str]) -> None:
        """Check that a run may be shared with the users with these addresses.

        Raises:
            AccessError: if it may not.
            InputError: if an address belongs to no user.
        """
        self.readers.ids(await self._changeable(run_id), shared_with)

    async def share(
        self,
        run_id: str,
        *,
        visibility: Visibility | None = None,
        shared_with: Sequence[str] | None = None,
    ) -> RunRecord:
        """Share a run with everyone, or with the users with these addresses.

        Raises:
            AccessError, InputError: as `check_may_share`.
        """
        run = await self._changeable(run_id)
        reader_ids = self.readers.ids(run, shared_with or ())
        values: dict[str, Any] = {} if visibility is None else {"visibility": visibility}
        if shared_with is not None:
            values["shared_json"] = reader_ids
        shared = await self._runs.change(run, **values)
        readers = ", ".join(self.readers.shared_with(shared) or ())[:_LONGEST_NOTE]
        await self.note("run_shared", shared, visibility=shared.visibility, people=readers or "-")
        return shared

    def saved_token(self) -> str | None:
        """Return the Hugging Face token saved in the principal's profile, if any."""
        has_profile = self.principal.user is not None
        return self._accounts.profiles.hf_token_of(self.principal) if has_profile else None

    async def note(self, action: str, run: RunRecord, **data: str) -> None:
        """Log an action of the principal on a run, including their own runs."""
        if self.principal.user is not None:
            owner = (
                {}
                if run.owner == self.principal.id
                else {"owner": self.readers.owner_of(run) or "-"}
            )
            details: JsonObject = data or {"name": run.name}
            await self._accounts.audit.note(self.principal, action, run.id, {**details, **owner})

    async def _note_for_others_run(
        self, action: str, run: RunRecord, changed: Iterable[str] = ()
    ) -> None:
        """Log an administrator's action on another user's run; of changes only the field names."""
        if run.owner != self.principal.id:
            names = ", ".join(sorted(name.removesuffix("_json") for name in changed))
            await self.note(action, run, **({"changed": names} if names else {}))

    async def _changeable(self, run_id: str, *, uses_disk: bool = False) -> ChangeableRun:
        run = await self._all.get(run_id)
        self.principal.check_changes(run)
        if uses_disk:
            await self._disk.remaining(run.owner)
        return ChangeableRun(VisibleRun(run))

    async def _allowance(self) -> Allowance:
        remaining = await self._disk.remaining(self.principal.id)
        return Allowance(owner=self.principal.id, max_bytes=remaining)

    async def _check_may_create(self, request: RunRequest) -> None:
        self.principal.check_works()
        self._environments.check_sees(self.principal, request.env_id)
        if request.reward_code is not None:
            await self.check_may_write_code("a reward function")
        await self._allowance()
        if request.init_from is not None:
            source = PolicyAddress.parse(request.init_from).run_id
            try:
                seen = self.principal.sees(await self._all.get(source))
            except RunNotFoundError:
                return  # `create` reports it.
            if not seen:
                raise InputError(str(RunNotFoundError(source)), field="init_from")
