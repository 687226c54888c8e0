"""Rights to see and change runs: the rule in Python and its SQL condition agree."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

import pytest

from storage.database import runs
from storage.database.sharing_rights import Rights, rights
from storage.records.accounts import Role, UserRecord
from storage.records.runs import RunFilter, RunRecord, Visibility

pytestmark = pytest.mark.usefixtures("database")

USERS = [
    UserRecord(id=name, email=f"{name}@x.org", name=name, role=role, created_at=datetime.now(UTC))
    # Ids that contain each other: a text condition must not confuse them.
    for name, role in product(("ada", "ad", "ada1"), (Role.MEMBER, Role.VIEWER))
]
ADMIN = UserRecord(
    id="root", email="root@x.org", name="root", role=Role.ADMIN, created_at=datetime.now(UTC)
)


def every_kind_of_run() -> Iterator[RunRecord]:
    owners = (None, "ada", "ad", "root")
    readers: tuple[list[str], ...] = ([], ["ada"], ["ada1", "ad"], ["root"])
    for owner, visibility, shared_with in product(owners, Visibility, readers):
        run = runs.create_run(
            name="a run", env_id="CartPole-v1", algorithm="PPO", config={}, owner=owner
        )
        yield runs.change_run(run.id, visibility=visibility, shared_json=shared_with)


def test_a_list_has_exactly_the_runs_that_the_user_may_see() -> None:
    all_runs = list(every_kind_of_run())

    for user in USERS:
        wanted = RunFilter(seen_by=user.id, archived=None)
        listed = {run.id for run in runs.list_runs(wanted, limit=len(all_runs)).items}

        assert listed == {run.id for run in all_runs if rights(user, run).see}
        assert 0 < len(listed) < len(all_runs)


def test_administrators_and_a_lab_without_accounts_may_do_everything() -> None:
    for run in every_kind_of_run():
        assert rights(ADMIN, run) == rights(None, run) == Rights(see=True, change=True)


def test_only_the_owner_may_change_a_run_and_may_also_see_it() -> None:
    for user, run in product(USERS, list(every_kind_of_run())):
        granted = rights(user, run)

        assert granted.change == (run.owner == user.id)
        assert granted.see >= granted.change
