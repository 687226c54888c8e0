"""What every route may ask for."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from app.access.run_access import RunAccess
from app.accounts.errors import AccountsOffError, NotSignedInError
from app.accounts.users.accounts import Accounts
from app.accounts.visitors import Visitor
from app.api.shared.schemas import Run
from app.lab import Lab
from storage.records.runs import RunRecord

LARGEST = 2**53
"""No line and no event has a larger number."""


def _lab(connection: HTTPConnection) -> Lab:
    lab: Lab = connection.app.state.lab
    return lab


def _visitor(connection: HTTPConnection) -> Visitor:
    visitor: Visitor | None = connection.scope.get("state", {}).get("visitor")
    if visitor is None:
        raise NotSignedInError
    visitor.check()
    return visitor


async def _trainer(connection: HTTPConnection) -> RunAccess:
    lab = _lab(connection)
    await lab.opened()
    return lab.trainer_for(_visitor(connection))


def _accounts(connection: HTTPConnection) -> Accounts:
    accounts = _lab(connection).accounts
    if not accounts.is_on:
        raise AccountsOffError
    return accounts


TheLab = Annotated[Lab, Depends(_lab)]
TheTrainer = Annotated[RunAccess, Depends(_trainer)]
"""Everything about runs, as far as the one who asks may."""
TheVisitor = Annotated[Visitor, Depends(_visitor)]
TheAccounts = Annotated[Accounts, Depends(_accounts)]


async def describe(run: RunRecord, trainer: RunAccess) -> Run:
    """Return a run as the API answers it, with the files it has right now."""
    return (await describe_all([run], trainer))[0]


async def describe_all(runs: Sequence[RunRecord], trainer: RunAccess) -> list[Run]:
    """Return several runs, looking at the files of all of them in one go."""

    def look() -> list[Run]:
        return [
            Run.of(
                run,
                trainer.folder(run.id).artifacts(),
                owner=trainer.owner_of(run),
                shared_with=trainer.readers_of(run),
            )
            for run in runs
        ]

    return await asyncio.to_thread(look)
