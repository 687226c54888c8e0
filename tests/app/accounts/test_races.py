"""Concurrent requests for the same code, invitation or address."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from app.accounts.auth.sign_in import Caller
from app.accounts.errors import AccessError, NotResettableError, TakenError
from app.accounts.principals import Principal
from app.accounts.requests import LabChanges, NewAccount, NewInvitation, NewPassword
from app.accounts.users.accounts import Accounts
from app.core.settings import Settings
from app.core.storage_thread import StorageThread
from storage.database.database import open_database
from storage.records.accounts import Registration, Role
from tests.app.accounts.users import PASSWORD

HERE = Caller(address="10.0.0.1")


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Callable[..., Accounts]]:
    storage, opened = StorageThread(), list[Accounts]()
    database = storage.call(open_database, tmp_path / "lab.db")

    def open_accounts(**settings: str) -> Accounts:
        opened.append(Accounts(Settings(bcrypt_cost=4, **settings), storage, secret=b"secret"))  # type: ignore[arg-type]  # texts only
        return opened[-1]

    yield open_accounts
    for accounts in opened:
        await accounts.close()
    storage.call(database.close)
    storage.close()


async def register(accounts: Accounts, email: str, **codes: str | None) -> str:
    new_account = NewAccount(email=email, password=PASSWORD, **codes)
    return await accounts.signing_in.register(new_account, HERE)


async def first_administrator(accounts: Accounts) -> Principal:
    token = await register(accounts, "root@example.org", setup_code=accounts.signing_in.setup_code)
    session = await accounts.passes.of_session(token)
    assert session is not None
    return Principal(session)


def refusals(ends: list[str | BaseException]) -> list[BaseException]:
    return [end for end in ends if isinstance(end, BaseException)]


async def test_one_setup_code_makes_one_administrator(lab: Callable[..., Accounts]) -> None:
    accounts = lab(host="0.0.0.0")
    code = accounts.signing_in.setup_code

    ends = await asyncio.gather(
        *(register(accounts, f"p{n}@example.org", setup_code=code) for n in range(5)),
        return_exceptions=True,
    )

    assert len(refusals(ends)) == 4
    assert [user.role for user in accounts.directory.all_users] == [Role.ADMIN]


async def test_one_invitation_makes_one_account(lab: Callable[..., Accounts]) -> None:
    accounts = lab(host="0.0.0.0")
    root = await first_administrator(accounts)
    _, code = await accounts.administration.invite(root, NewInvitation())

    ends = await asyncio.gather(
        *(register(accounts, f"p{n}@example.org", invitation=code) for n in range(5)),
        return_exceptions=True,
    )

    assert all(isinstance(end, AccessError) for end in refusals(ends))
    assert len(accounts.directory.all_users) == 2


async def test_one_address_gets_one_account(lab: Callable[..., Accounts]) -> None:
    accounts = lab(auth="on")
    root = await first_administrator(accounts)
    await accounts.administration.change_lab(root, LabChanges(registration=Registration.OPEN))

    addresses = ("ada@example.org", "ADA@example.org", " Ada@Example.ORG ")
    ends = await asyncio.gather(
        *(register(accounts, email) for email in addresses), return_exceptions=True
    )

    assert [type(end) for end in refusals(ends)] == [TakenError, TakenError]
    assert len(accounts.directory.all_users) == 2


async def test_one_code_sets_one_password(lab: Callable[..., Accounts]) -> None:
    accounts = lab(auth="on")
    root = await first_administrator(accounts)
    _, code = await accounts.resets.make(root, root.me.id)
    requests = [NewPassword(code=code, password=f"password number {n}") for n in range(5)]

    ends = await asyncio.gather(
        *(accounts.resets.use(request, HERE) for request in requests), return_exceptions=True
    )

    refused = refusals(ends)
    assert [type(end) for end in refused] == [NotResettableError] * 4
