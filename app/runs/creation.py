"""Make runs of what a person asked for: in the database, on disk and in the log, or not at all."""

import asyncio
import logging
from typing import Any

from app.core.errors import InputError
from app.core.storage_thread import StorageThread
from app.discovery.environment_finder import EnvironmentFinder
from app.run_config.config import RunConfig, RunRequest
from app.runs.state.journal import Journal
from app.runs.stored_policies import PolicyAddress, read_policy
from app.runs.transfer import check_transfer
from storage.database import runs
from storage.database.database import in_one_step
from storage.errors import RunNotFoundError
from storage.files.lab_folder import LabFolder
from storage.records.runs import EventLevel, RunRecord

_log = logging.getLogger(__name__)


class Creation:
    """Knows what a new run needs before it can wait for a worker."""

    def __init__(
        self,
        journal: Journal,
        folder: LabFolder,
        storage: StorageThread,
        environments: EnvironmentFinder,
    ) -> None:
        self._journal = journal
        self._folder = folder
        self._storage = storage
        self._environments = environments

    async def make(
        self,
        request: RunRequest,
        *,
        group_id: str | None = None,
        owner: str | None = None,
        policy: bytes | None = None,
    ) -> RunRecord:
        """Make a run; it waits until it is started. `policy` is what `init_from` has right now.

        Raises:
            InputError: if something in the request can't be used. Nothing is left behind.
        """
        await self._environments.find(request.env_id, request.env_kwargs)
        config = await _configure(request)
        if policy is None:
            policy = await self._policy_of(config)
        try:
            run = await self._storage(
                _add_run,
                self._folder,
                policy,
                name=(request.name or "").strip() or f"{config.algorithm} on {config.env_id}",
                env_id=config.env_id,
                algorithm=config.algorithm,
                config=config.model_dump(),
                tags=request.tags,
                group_id=group_id,
                owner=owner,
                parent=config.init_from and PolicyAddress.parse(config.init_from).run_id,
            )
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(f"The runs folder can't be written: {reason}.") from error
        _log.info("Run %s created", run.id)
        await self._tell(run, request, config)
        return self._journal.announce(run)

    async def _tell(self, run: RunRecord, request: RunRequest, config: RunConfig) -> None:
        await self._journal.tell(run.id, "created", _describe(config))
        if request.env_id != config.env_id:
            message = f"{request.env_id} is an earlier version; the run uses {config.env_id}."
            await self._journal.tell(run.id, "environment_mapped", message)
        if config.init_from is not None:
            message = f"It begins with the policy of run {config.init_from}."
            await self._journal.tell(run.id, "transferred", message)
        if config.reward_code is not None:
            message = (
                "It learns from a reward function of its own (reward.py). Mean reward, solved, "
                "evaluations and the live view keep to the environment's reward."
            )
            await self._journal.tell(run.id, "reward_written", message)
        if config.total_timesteps <= (starts := _learning_starts(config)):
            message = (
                f"It never learns: learning_starts is {starts:,}, and the budget "
                f"{config.total_timesteps:,} steps."
            )
            await self._journal.tell(run.id, "never_learns", message, level=EventLevel.WARNING)
        if off := config.wrappers.disturbances:
            words = ", ".join(name.replace("_", " ") for name in off)
            message = f"Evaluations and the live view leave out: {words}."
            await self._journal.tell(run.id, "evaluation_differs", message)

    async def _policy_of(self, config: RunConfig) -> bytes | None:
        """Return the policy that a run begins with, if it begins with another run's."""
        if config.init_from is None:
            return None
        address = PolicyAddress.parse(config.init_from)
        try:
            source = await self._storage(runs.get_run, address.run_id)
        except RunNotFoundError as error:
            raise InputError(str(error), field="init_from") from None
        check_transfer(config, RunConfig.model_validate(source.config))
        folder = self._folder.run(source.id)
        found = await asyncio.to_thread(read_policy, folder, address.which, field="init_from")
        if found is None:
            raise InputError("The run to begin from has no policy yet.", field="init_from")
        return found.weights


async def _configure(request: RunRequest) -> RunConfig:
    if request.reward_code is None:
        return RunConfig.from_request(request)
    # Reading somebody's code may take longer than the event loop has.
    return await asyncio.to_thread(RunConfig.from_request, request)


def _add_run(folder: LabFolder, policy: bytes | None, **values: Any) -> RunRecord:
    """Add a run to the database and to the disk, or to neither."""
    run = None
    try:
        with in_one_step():
            run = runs.create_run(**values)
            folder.run(run.id).create(run.config, policy)
    except BaseException:
        if run is not None:
            folder.run(run.id).remove()
        raise
    return run


def _learning_starts(config: RunConfig) -> int:
    value = config.hyperparameters.get("learning_starts", 0)
    assert isinstance(value, int)
    return value


def _describe(config: RunConfig) -> str:
    return (
        f"{config.algorithm} on {config.env_id}: {config.total_timesteps:,} steps, "
        f"{config.n_envs} parallel environment{'s' if config.n_envs > 1 else ''}, "
        f"seed {config.seed}."
    )
