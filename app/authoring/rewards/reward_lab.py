"""The reward lab before training: what an editor needs, and the check in a locked worker."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from app.accounts.access.code_policy import CodePolicy
from app.accounts.limits.attempts import Attempts
from app.accounts.visitors import Visitor
from app.authoring.rewards.completions import Word, words_of
from app.authoring.rewards.dry_run import DryRun
from app.authoring.rewards.errors import CannotCheckError
from app.authoring.rewards.ranking import judge
from app.authoring.rewards.recordings import Recordings
from app.authoring.rewards.report import RewardReport
from app.authoring.rewards.templates.catalogue import templates_for
from app.authoring.rewards.templates.template import Template
from app.authoring.rewards.versions import RewardVersions
from app.catalog.environments.spec import EnvSpec
from app.code_check.kinds import CodeKind
from app.code_check.problems import Problem
from app.code_check.static_check import check
from app.discovery.environment_finder import EnvironmentFinder
from app.protocol.messages import RewardChecked
from app.workers.pool import WorkerPool
from storage.files.lab_folder import LabFolder

_MOST_CHECKS = 60
_WITHIN_S = 60
_PLACE_WITHIN_S = 20.0


class RewardLab:
    """Says what is wrong with a reward, and what it would pay for."""

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
        self._places = pool.side_slots
        self._environments = environments
        self._policy = policy
        self._turns: dict[str, asyncio.Lock] = {}
        self._attempts = Attempts(_MOST_CHECKS, within_s=_WITHIN_S)

    def words(self, spec: EnvSpec) -> Sequence[Word]:
        """Return what code may name in an environment, for completion and hover."""
        return words_of(spec)

    def templates(self, spec: EnvSpec) -> Sequence[Template]:
        """Return rewards to begin with; the first is the environment's own, unchanged."""
        return templates_for(spec)

    async def lint(
        self, code: str, spec: EnvSpec | None = None, kind: CodeKind = CodeKind.REWARD
    ) -> Sequence[Problem]:
        """Say what can be seen without running code, fast enough for while somebody types."""
        return await asyncio.to_thread(check, code, kind, spec)

    async def check(
        self,
        visitor: Visitor,
        code: str,
        env_id: str,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> RewardReport:
        """Look at a reward, and try it on recorded episodes if it could work.

        Raises:
            AccessError: if the visitor may not give code, or there is no worker for it.
            InputError: if there is no such environment here.
        """
        await self._policy.check(visitor, "a reward function")
        given = dict(env_kwargs or {})
        self._environments.check_sees(visitor, env_id)
        spec = await self._environments.find(env_id, given)
        spec.check_installed()
        self._attempts.add(visitor.person and visitor.person.id, what="checks")
        problems = await self.lint(code, spec)
        if any(problem.is_error for problem in problems):
            return RewardReport(problems=problems)
        async with self._place(visitor):
            recording = await self.recordings.get(spec, given)
            found = await self._dry_run.of(code, spec, recording)
        if isinstance(found, RewardChecked):
            return await asyncio.to_thread(judge, problems, found, spec)
        return RewardReport(problems=[*problems, found])

    @asynccontextmanager
    async def _place(self, visitor: Visitor) -> AsyncIterator[None]:
        """Wait for one of the workers beside training."""
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(_PLACE_WITHIN_S):
                    if visitor.person is not None:
                        # Where there are several people, none of them takes every place.
                        turn = self._turns.setdefault(visitor.person.id, asyncio.Lock())
                        await held.enter_async_context(turn)
                    await held.enter_async_context(self._places.for_a_test())
            except TimeoutError:
                text = "Every worker beside training is busy. Try again in a moment."
                raise CannotCheckError(text) from None
            yield
