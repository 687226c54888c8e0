"""The reward lab as one visitor may use it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.accounts.access.code_policy import CodePolicy
from app.accounts.visitors import Visitor
from app.authoring.rewards.report import RewardReport
from app.authoring.rewards.reward_lab import RewardLab
from app.catalog.environments.spec import EnvSpec
from app.code_check.problems import Problem
from storage.files.reward_versions import RewardVersion


@dataclass(frozen=True, slots=True)
class PersonalRewards:
    """Everything an editor of rewards needs."""

    visitor: Visitor
    lab: RewardLab
    policy: CodePolicy

    async def refusal(self) -> str | None:
        """Say why the visitor may not write rewards, if that is so."""
        return await self.policy.refusal(self.visitor)

    async def lint(self, code: str, spec: EnvSpec) -> Sequence[Problem]:
        """Say what can be seen without running code."""
        return await self.lab.lint(code, spec)

    async def check(self, code: str, env_id: str, env_kwargs: Mapping[str, Any]) -> RewardReport:
        """Try a reward on recorded episodes; see `RewardLab.check`."""
        return await self.lab.check(self.visitor, code, env_id, env_kwargs)

    async def versions(self, env_id: str) -> Sequence[RewardVersion]:
        """Return what the visitor saved for an environment, newest first."""
        return await self.lab.versions.list(self.visitor, env_id)

    async def save(self, env_id: str, code: str) -> RewardVersion:
        """Keep a reward; see `RewardVersions.save`."""
        return await self.lab.versions.save(self.visitor, env_id, code)
