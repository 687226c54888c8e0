"""The reward lab: completions, templates, and checks in a sandboxed worker."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from app.accounts import Principal
from app.accounts.access import CodePolicy
from app.accounts.limits import Attempts
from app.authoring.rewards.completions import Word, words_of
from app.authoring.rewards.dry_run import DryRun
from app.authoring.rewards.errors import CannotCheckError
from app.authoring.rewards.ranking import make_report
from app.authoring.rewards.recordings import Recordings
from app.authoring.rewards.report import RewardReport
from app.authoring.rewards.templates import Template, templates_for
from app.authoring.rewards.versions import RewardVersions
from app.catalog.environments import EnvSpec
from app.code_check import CodeKind, Problem, check
from app.discovery import EnvironmentFinder
from app.protocol import RewardChecked
from app.workers import WorkerPool
from storage.files import LabFolder

_MAX_CHECKS = 60
_WITHIN_S = 60
_SLOT_WITHIN_S = 20.0


class RewardLab:
    """Checks custom rewards, and supports writing them."""

    def __init__(
        self,
        folder: LabFolder,
        pool: WorkerPool,
        environments: EnvironmentFinder,
        policy: CodePolicy,
    ) -> None:
        self.recordings = Recordings(folder, pool)
        self.versions = RewardVersions(folder)
        self._dry_run = DryRun(pool)
        self._side_slots = pool.side_slots
        self._environments = environments
        self._policy = policy
        self._turns: dict[str, asyncio.Lock] = {}
        self._attempts = Attempts(_MAX_CHECKS, within_s=_WITHIN_S)

    def words(self, spec: EnvSpec) -> Sequence[Word]:
        """Return the names for completion and hover in an environment."""
        return words_of(spec)

    def templates(self, spec: EnvSpec) -> Sequence[Template]:
        """Return the templates of an environment; the first is its own reward, unchanged."""
        return templates_for(spec)

    async def lint(
        self, code: str, spec: EnvSpec | None = None, kind: CodeKind = CodeKind.REWARD
    ) -> Sequence[Problem]:
        """Return the problems of a static check, which is fast enough to run during typing."""
        return await check(code, kind, spec)

    async def check(
        self,
        principal: Principal,
        code: str,
        env_id: str,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> RewardReport:
        """Check a reward statically and, without errors, on recorded episodes.

        Raises:
            AccessError: if the principal may not submit code, or no worker is free.
            InputError: if the environment does not exist.
        """
        await self._policy.check(principal, "a reward function")
        given = dict(env_kwargs or {})
        self._environments.check_sees(principal, env_id)
        spec = await self._environments.find(env_id, given)
        spec.check_installed()
        self._attempts.add(principal.id, what="checks")
        problems = await self.lint(code, spec)
        if any(problem.is_error for problem in problems):
            return RewardReport(problems=problems)
        async with self._side_slot(principal):
            recording = await self.recordings.get(spec, given)
            found = await self._dry_run.of(code, spec, recording)
        if isinstance(found, RewardChecked):
            return await asyncio.to_thread(make_report, problems, found, spec)
        return RewardReport(problems=[*problems, found])

    @asynccontextmanager
    async def _side_slot(self, principal: Principal) -> AsyncIterator[None]:
        """Wait for a side slot, and hold it."""
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(_SLOT_WITHIN_S):
                    if principal.user is not None:
                        # With accounts, a user occupies one slot at most.
                        turn = self._turns.setdefault(principal.user.id, asyncio.Lock())
                        await held.enter_async_context(turn)
                    await held.enter_async_context(self._side_slots.priority_slot())
            except TimeoutError:
                text = "All workers for side jobs are busy. Try again in a moment."
                raise CannotCheckError(text) from None
            yield
