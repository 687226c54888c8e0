"""Who may give code to the lab, by the level of the sandbox and by who asks."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nicegui.testing import User

from app.accounts.access.code_policy import UNLOCKED, CodePolicy, CodeRefusedError, CodeRules
from app.accounts.auth.audit_log import AuditLog
from app.accounts.errors import ForbiddenError, ReadOnlyTokenError
from app.accounts.visitors import NO_ACCOUNTS, Pass, Visitor
from app.catalog.environments import catalogue
from app.core.errors import InputError
from app.core.settings import read_settings
from app.core.storage_thread import StorageThread
from app.evaluation.evaluation import EvaluationOptions
from app.lab import Lab
from app.run_config.config import RunRequest
from app.workers.sandbox_check import Sandbox, SandboxLevel
from storage.database.database import open_database
from storage.errors import WrongStateError
from storage.records.accounts import PersonRecord, Role, TokenScope
from storage.records.runs import RunStatus

FULL = Sandbox(SandboxLevel.FULL, ("landlock-7", "seccomp"), ())
PARTIAL = Sandbox(SandboxLevel.PARTIAL, ("landlock-7",), ("unix", "signal"))
NONE = Sandbox(SandboxLevel.NONE, ("limits",), ("read", "write"))

TRUSTING = CodeRules.of(unlocked=False, trusted=(" Ada@Example.org",))
UNLOCKING = CodeRules.of(unlocked=True, trusted=("ada@example.org",))


def visitor(role: Role, email: str = "bob@example.org", **more: TokenScope) -> Visitor:
    person = PersonRecord(
        id=email, email=email, name=email, role=role, created_at=datetime.now(UTC)
    )
    return Visitor(Pass(person, **more), "10.0.0.1")


ADMIN = visitor(Role.ADMIN, "root@example.org")
MEMBER = visitor(Role.MEMBER)
ADA = visitor(Role.MEMBER, "ada@example.org")


@pytest.fixture
async def audit(tmp_path: Path) -> AsyncIterator[AuditLog]:
    storage = StorageThread()
    database = storage.call(open_database, tmp_path / "lab.db")
    yield AuditLog(storage)
    storage.call(database.close)
    storage.close()


def policy(sandbox: Sandbox, rules: CodeRules, audit: AuditLog) -> CodePolicy:
    async def found() -> Sandbox:
        return sandbox

    return CodePolicy(rules, found, audit)


@pytest.mark.parametrize(
    ("sandbox", "rules", "who", "may"),
    [
        (FULL, TRUSTING, MEMBER, True),
        (FULL, TRUSTING, ADMIN, True),
        (FULL, TRUSTING, NO_ACCOUNTS, True),
        (PARTIAL, TRUSTING, MEMBER, False),
        (PARTIAL, TRUSTING, ADA, True),
        (PARTIAL, TRUSTING, ADMIN, True),
        (PARTIAL, TRUSTING, NO_ACCOUNTS, True),
        (NONE, TRUSTING, MEMBER, False),
        (NONE, TRUSTING, ADA, False),
        (NONE, TRUSTING, ADMIN, False),
        (NONE, TRUSTING, NO_ACCOUNTS, False),
        (NONE, UNLOCKING, MEMBER, False),
        (NONE, UNLOCKING, ADA, False),
        (NONE, UNLOCKING, ADMIN, True),
        (NONE, UNLOCKING, NO_ACCOUNTS, True),
    ],
)
async def test_code_comes_from_whom_the_lock_can_bear(
    sandbox: Sandbox, rules: CodeRules, who: Visitor, may: bool, audit: AuditLog
) -> None:
    decides = policy(sandbox, rules, audit)

    if may:
        assert await decides.refusal(who) is None
        await decides.check(who, "a reward function")
    else:
        with pytest.raises(CodeRefusedError) as refused:
            await decides.check(who, "a reward function")
        assert refused.value.status == 403
        assert str(refused.value) == await decides.refusal(who)


async def test_the_reason_names_the_open_doors_or_the_setting(audit: AuditLog) -> None:
    partly = await policy(PARTIAL, TRUSTING, audit).refusal(MEMBER)
    not_at_all = await policy(NONE, TRUSTING, audit).refusal(NO_ACCOUNTS)

    assert partly is not None
    assert "unix, signal" in partly
    assert not_at_all is not None
    assert "RL_LAB_UNLOCKED_CODE=1" in not_at_all


async def test_who_may_only_look_gives_no_code_however_good_the_lock(audit: AuditLog) -> None:
    decides = policy(FULL, TRUSTING, audit)

    with pytest.raises(ForbiddenError, match="Viewers may only look"):
        await decides.check(visitor(Role.VIEWER), "a reward function")
    with pytest.raises(ReadOnlyTokenError):
        await decides.check(visitor(Role.MEMBER, scope=TokenScope.READ), "a reward function")


async def test_code_that_runs_without_a_lock_is_written_into_the_audit_log(
    audit: AuditLog,
) -> None:
    decides = policy(NONE, UNLOCKING, audit)

    await decides.announce(NONE)
    await decides.check(ADMIN, "a reward function")
    await policy(FULL, UNLOCKING, audit).check(ADMIN, "a reward function")

    written = await audit.read(before=None, limit=10)
    assert [(one.who, one.action, one.subject) for one in reversed(written)] == [
        ("nobody", "code_unlocked", ""),
        ("root@example.org", "code_given_unlocked", "a reward function"),
    ]


async def test_no_run_with_code_is_made_or_started_where_the_lock_can_t_bear_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def none_at_all(_lab: Lab) -> Sandbox:
        return NONE

    monkeypatch.setattr(Lab, "_checked", none_at_all)
    code = "def reward_function(obs, action):\n    return 1.0"
    request = RunRequest(env_id="CartPole-v1", algorithm="PPO", reward_code=code)
    lab = Lab(read_settings([], os.environ))
    trainer = lab.trainer_for(NO_ACCOUNTS)

    with pytest.raises(CodeRefusedError):
        await trainer.create(request)
    # Made when there was a lock.
    run = await lab.trainer.create(request)
    with pytest.raises(CodeRefusedError):
        await trainer.start(run.id)
    plain = await trainer.create(RunRequest(env_id="CartPole-v1", algorithm="PPO"))

    assert plain.config["reward_code"] is None
    await lab.close()


async def test_a_run_that_waited_with_code_ends_with_the_reason_where_the_lock_is_worse_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = FULL

    async def whatever_is_found(_lab: Lab) -> Sandbox:
        return found

    monkeypatch.setattr(Lab, "_checked", whatever_is_found)
    code = "def reward_function(obs, action):\n    return 1.0"
    request = RunRequest(env_id="CartPole-v1", algorithm="PPO", reward_code=code)
    first = Lab(read_settings([], os.environ))
    run = await first.trainer_for(NO_ACCOUNTS).create(request)
    await first.trainer_for(NO_ACCOUNTS).start(run.id)
    await first.close()

    found = NONE
    second = Lab(read_settings([], os.environ))
    await second.open()
    ended = await second.trainer.get(run.id)

    assert ended.status is RunStatus.FAILED
    assert ended.error is not None
    assert ended.error.startswith("Nothing locks workers in here")
    await second.close()


async def test_code_of_an_earlier_sitting_is_not_played_where_the_lock_is_worse_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def none_at_all(_lab: Lab) -> Sandbox:
        return NONE

    monkeypatch.setattr(Lab, "_checked", none_at_all)
    spec = replace(
        catalogue.get_environment("CartPole-v1"), id="written/mine-v1", code="import gymnasium"
    )
    monkeypatch.setattr(catalogue, "_described", {})
    catalogue.remember(spec, {})
    lab = Lab(read_settings([], os.environ))
    code = "def reward_function(obs, action):\n    return 1.0"
    request = RunRequest(env_id="CartPole-v1", algorithm="PPO", reward_code=code)
    run = await lab.trainer.create(request)

    with pytest.raises(WrongStateError, match="Nothing locks workers in here"):
        await lab.evaluations.start(run.id, EvaluationOptions())
    with pytest.raises(WrongStateError, match="Nothing locks workers in here"):
        await lab.sharing.exports.onnx(run)
    with pytest.raises(InputError, match="Nothing locks workers in here"):
        await lab.tryouts.start(NO_ACCOUNTS, spec.id, mode="random")
    await lab.close()


@pytest.mark.slow
async def test_every_page_says_that_code_runs_unlocked(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none_at_all(_lab: Lab) -> Sandbox:
        return NONE

    await user.open("/runs")
    await user.should_not_see(UNLOCKED, retries=1)

    monkeypatch.setattr(Lab, "_checked", none_at_all)
    monkeypatch.setattr(CodeRules, "unlocks", lambda _rules, sandbox: sandbox is NONE)
    await user.open("/runs")

    await user.should_see(UNLOCKED)
