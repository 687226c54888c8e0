"""Dependencies of routes: the lab, the principal, access to runs, descriptions of runs."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from app.access import Access
from app.accounts import AccountsOffError, NotSignedInError, Principal
from app.accounts.users import Accounts
from app.analysis.comparison import human_normalized_score
from app.api.shared.schemas import Run, artifacts_of
from app.lab import Lab
from app.run_config import engine_of, environment_label
from storage.files import RunFolder
from storage.records import ChangeableRun, RunRecord, VisibleRun

MAX_COUNTER = 2**53
"""Upper bound of the numbers of lines and events."""


def _lab(connection: HTTPConnection) -> Lab:
    lab: Lab = connection.app.state.lab
    return lab


def _principal(connection: HTTPConnection) -> Principal:
    principal: Principal | None = connection.scope.get("state", {}).get("principal")
    if principal is None:
        raise NotSignedInError
    principal.check()
    return principal


async def _access(connection: HTTPConnection) -> Access:
    lab = _lab(connection)
    await lab.opened()
    return lab.access_for(_principal(connection))


def _accounts(connection: HTTPConnection) -> Accounts:
    accounts = _lab(connection).accounts
    if not accounts.is_on:
        raise AccountsOffError
    return accounts


TheLab = Annotated[Lab, Depends(_lab)]
ThePrincipal = Annotated[Principal, Depends(_principal)]
TheAccounts = Annotated[Accounts, Depends(_accounts)]
TheAccess = Annotated[Access, Depends(_access)]
"""Access of the request's principal to runs."""


async def _visible(run_id: str, access: TheAccess) -> VisibleRun:
    return await access.visible(run_id)


TheRun = Annotated[VisibleRun, Depends(_visible)]
"""The run of the path, which the principal may see."""


def changing(action: str, *, trains: bool = False) -> Any:  # noqa: ANN401 - as `Depends` returns
    """Depend on a run to change; `action` is logged when the route has succeeded.

    Routes with a body call `access` themselves: an invalid body is refused first.
    """

    async def checked(run_id: str, access: TheAccess) -> AsyncIterator[ChangeableRun]:
        async with access.changing(run_id, action, trains=trains) as run:
            yield run

    return Depends(checked, scope="function")


def evaluable(*, uses_disk: bool = False) -> Any:  # noqa: ANN401 - as `Depends` returns
    """Depend on a run whose evaluations may be changed."""

    async def checked(run_id: str, access: TheAccess) -> ChangeableRun:
        return await access.evaluable(run_id, uses_disk=uses_disk)

    return Depends(checked)


class Describe:
    """Describes runs as the API answers them, with their current files."""

    def __init__(self, lab: TheLab, access: TheAccess) -> None:
        self._runs = lab.runs
        self._access = access

    async def __call__(self, run: RunRecord) -> Run:
        """Describe one run that was just read."""
        return (await self.all([run]))[0]

    async def all(self, runs: Sequence[RunRecord]) -> list[Run]:
        """Describe several runs, reading all of their folders in one call on a thread."""
        folders = [self._runs.folder(self._access.see(run)) for run in runs]

        def describe() -> list[Run]:
            return [self._shape(*pair) for pair in zip(runs, folders, strict=True)]

        return await asyncio.to_thread(describe)

    def _shape(self, run: RunRecord, folder: RunFolder) -> Run:
        return Run.of(
            run,
            engine=engine_of(run),
            environment_label=environment_label(run),
            human_normalized=human_normalized_score(run, run.score, run.score_kind),
            owner=self._access.readers.owner_of(run),
            shared_with=self._access.readers.shared_with(run),
            artifacts=artifacts_of(run.id, folder.artifacts()),
        )


ToDescribe = Annotated[Describe, Depends()]
