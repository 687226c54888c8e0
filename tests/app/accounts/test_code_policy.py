"""Who may provide code, by the level of the sandbox and by principal."""

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
from app.accounts.principals import NO_ACCOUNTS, Pass, Principal
from app.catalog.environments import catalogue
from app.core.errors import InputError
from app.core.settings import read_settings
from app.core.storage_thread import StorageThread
from app.evaluation.evaluation import EvaluationRequest
from app.lab import Lab
from app.run_config.request import RunRequest
from app.workers.sandbox_check import Sandbox, SandboxLevel
from storage.database.database import open_database
from storage.errors import WrongStateError
from storage.records.accounts import Role, TokenScope, UserRecord
from storage.records.grants import Allowance
from storage.records.runs import RunStatus

FULL = Sandbox(SandboxLevel.FULL, ("landlock-7", "seccomp"), ())
PARTIAL = Sandbox(SandboxLevel.PARTIAL, ("landlock-7",), ("unix", "signal"))
NONE = Sandbox(SandboxLevel.NONE, ("limits",), ("read", "write"))

TRUSTING = CodeRules.of(unlocked=False, trusted=(" Ada@Example.org",))
UNLOCKING = CodeRules.of(unlocked=True, trusted=("ada@example.org",))


def principal(role: Role, email: str = "bob@example.org", **more: TokenScope) -> Principal:
    user = UserRecord(id=email, email=email, name=email, role=role, created_at=datetime.now(UTC))
    return Principal(Pass(user, **more), "10.0.0.1")


ADMIN = principal(Role.ADMIN, "root@example.org")
MEMBER = principal(Role.MEMBER)
ADA = principal(Role.MEMBER, "ada@example.org")


@pytest.fixture
async def audit(tmp_path: Path) -> AsyncIterator[AuditLog]:
    storage = StorageThread()
    database = storage.call(open_database, tmp_path / "lab.db")
    yield AuditLog(storage)
    storage.call(database.close)
    storage.close()


def policy(sandbox: Sandbox, rules: CodeRules, audit: AuditLog) -> CodePolicy:
    async def check() -> Sandbox:
        return sandbox

    return CodePolicy(rules, check, audit)


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
async def test_code_is_accepted_by_sandbox_level_and_role(
    sandbox: Sandbox, rules: CodeRules, who: Principal, may: bool, audit: AuditLog
) -> None:
    code_policy = policy(sandbox, rules, audit)

    if may:
        assert await code_policy.refusal(who) is None
        await code_policy.check(who, "a reward function")
    else:
        with pytest.raises(CodeRefusedError) as refused:
            await code_policy.check(who, "a reward function")
        assert refused.value.status == 403
        assert str(refused.value) == await code_policy.refusal(who)


async def test_the_reason_names_the_escapes_or_the_setting(audit: AuditLog) -> None:
    partial = await policy(PARTIAL, TRUSTING, audit).refusal(MEMBER)
    none = await policy(NONE, TRUSTING, audit).refusal(NO_ACCOUNTS)

    assert partial is not None
    assert "unix, signal" in partial
    assert none is not None
    assert "RL_LAB_UNLOCKED_CODE=1" in none
    assert "docs/security.md" in none


async def test_read_only_users_may_not_provide_code_even_with_a_full_sandbox(
    audit: AuditLog,
) -> None:
    code_policy = policy(FULL, TRUSTING, audit)

    with pytest.raises(ForbiddenError, match="Viewers have read-only access"):
        await code_policy.check(principal(Role.VIEWER), "a reward function")
    with pytest.raises(ReadOnlyTokenError):
        await code_policy.check(principal(Role.MEMBER, scope=TokenScope.READ), "a reward function")


async def test_code_that_runs_without_a_sandbox_is_written_into_the_audit_log(
    audit: AuditLog,
) -> None:
    code_policy = policy(NONE, UNLOCKING, audit)

    await code_policy.announce(NONE)
    await code_policy.check(ADMIN, "a reward function")
    await policy(FULL, UNLOCKING, audit).check(ADMIN, "a reward function")

    written = await audit.read(before=None, limit=10)
    assert [(one.who, one.action, one.subject) for one in reversed(written)] == [
        ("nobody", "code_unlocked", ""),
        ("root@example.org", "code_given_unlocked", "a reward function"),
    ]


async def test_no_run_with_code_is_created_or_started_without_a_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def no_sandbox(_lab: Lab) -> Sandbox:
        return NONE

    monkeypatch.setattr(Lab, "_checked_sandbox", no_sandbox)
    code = "def reward_function(obs, action):\n    return 1.0"
    request = RunRequest(env_id="CartPole-v1", algorithm="PPO", reward_code=code)
    lab = Lab(read_settings([], os.environ))
    access = lab.access_for(NO_ACCOUNTS)

    with pytest.raises(CodeRefusedError):
        await access.create(request)
    # Created while there was a sandbox.
    (run,) = await lab.runs.create(Allowance(owner=None), request)
    with pytest.raises(CodeRefusedError):
        async with access.changing(run.id, "run_started", trains=True):
            pytest.fail("It may not be started.")
    (plain,) = await access.create(RunRequest(env_id="CartPole-v1", algorithm="PPO"))

    assert plain.config["reward_code"] is None
    await lab.close()


async def test_a_queued_run_with_code_fails_with_the_reason_where_the_sandbox_is_missing_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sandbox = FULL

    async def current_sandbox(_lab: Lab) -> Sandbox:
        return sandbox

    monkeypatch.setattr(Lab, "_checked_sandbox", current_sandbox)
    code = "def reward_function(obs, action):\n    return 1.0"
    request = RunRequest(env_id="CartPole-v1", algorithm="PPO", reward_code=code)
    first = Lab(read_settings([], os.environ))
    (run,) = await first.access_for(NO_ACCOUNTS).create(request)
    async with first.access_for(NO_ACCOUNTS).changing(
        run.id, "run_started", trains=True
    ) as run_to_start:
        await first.runs.start(run_to_start)
    await first.close()

    sandbox = NONE
    second = Lab(read_settings([], os.environ))
    await second.open()
    ended = await second.access_for(NO_ACCOUNTS).visible(run.id)

    assert ended.status is RunStatus.FAILED
    assert ended.error is not None
    assert ended.error.startswith("There is no sandbox here")
    await second.close()


async def test_code_of_an_earlier_server_is_not_executed_where_the_sandbox_is_missing_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def no_sandbox(_lab: Lab) -> Sandbox:
        return NONE

    monkeypatch.setattr(Lab, "_checked_sandbox", no_sandbox)
    spec = replace(
        catalogue.get_environment("CartPole-v1"), id="written/mine-v1", code="import gymnasium"
    )
    monkeypatch.setattr(catalogue, "_registered", {})
    catalogue.register_environment(spec, {})
    lab = Lab(read_settings([], os.environ))
    code = "def reward_function(obs, action):\n    return 1.0"
    request = RunRequest(env_id="CartPole-v1", algorithm="PPO", reward_code=code)
    (run,) = await lab.runs.create(Allowance(owner=None), request)

    evaluable = await lab.access_for(NO_ACCOUNTS).evaluable(run.id)
    with pytest.raises(WrongStateError, match="There is no sandbox here"):
        await lab.evaluations.start(evaluable, EvaluationRequest())
    with pytest.raises(WrongStateError, match="There is no sandbox here"):
        await lab.sharing.exports.onnx(lab.access_for(NO_ACCOUNTS).see(run))
    with pytest.raises(InputError, match="There is no sandbox here"):
        await lab.tryouts.start(NO_ACCOUNTS, spec.id, mode="random")
    await lab.close()


@pytest.mark.slow
async def test_every_page_warns_that_code_runs_without_a_sandbox(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_sandbox(_lab: Lab) -> Sandbox:
        return NONE

    await user.open("/runs")
    await user.should_not_see(UNLOCKED, retries=1)

    monkeypatch.setattr(Lab, "_checked_sandbox", no_sandbox)
    monkeypatch.setattr(CodeRules, "unlocks", lambda _rules, sandbox: sandbox is NONE)
    await user.open("/runs")

    await user.should_see(UNLOCKED)
