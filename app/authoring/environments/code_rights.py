"""Whether stored code may still run: the rights of its author may have changed."""

from app.accounts import Directory
from app.accounts.access import CodePolicy
from app.authoring.environments.custom_environments import CustomEnvironments
from app.run_config import config_of
from storage.records import RunRecord


class CodeRights:
    """Applies the code policy to the authors of stored code."""

    def __init__(
        self, policy: CodePolicy, custom: CustomEnvironments, directory: Directory
    ) -> None:
        self._policy = policy
        self._custom = custom
        self._directory = directory

    async def refusal_of_run(self, run: RunRecord) -> str | None:
        """Return why the code of a run may not run; None: it may, or there is none."""
        config = config_of(run)
        authors = {run.owner} if config.reward_code is not None else set()
        if config.env_code is not None:
            authors.add(self._custom.owner_of(run.env_id) or run.owner)
        for author in authors:
            if (reason := await self._policy.refusal_of(self._directory.get(author))) is not None:
                return reason
        return None

    async def refusal_of_environment(self, env_id: str) -> str | None:
        """Return why a custom environment may not run; None: it may."""
        author = self._custom.owner_of(env_id)
        return await self._policy.refusal_of(self._directory.get(author))
