"""Create runs from requests: in the database, on disk and in the event log, or not at all."""

import asyncio
import logging
from typing import Any

from app.catalog.algorithms import Family, get_algorithm
from app.catalog.environments import EnvSpec
from app.core import InputError, StorageThread
from app.discovery import EnvironmentFinder
from app.protocol import EVALUATION_SEEDS
from app.run_config import RunConfig, RunRequest, config_of, nearest_seeds
from app.runs.state import Journal
from app.runs.stored_policies import PolicyAddress, read_policy
from app.runs.transfer import check_transfer, describe_exploration
from storage import RunNotFoundError
from storage.database import run_sets, runs, transaction
from storage.files import LabFolder
from storage.records import EventLevel, RunRecord, RunSetRecord

_log = logging.getLogger(__name__)


class Creation:
    """Prepares everything that a new run needs before it can be queued."""

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
        run_set: RunSetRecord | None = None,
        owner: str | None = None,
        policy: bytes | None = None,
    ) -> RunRecord:
        """Create a run, in `run_set` if given; `policy` is the current policy of `init_from`.

        Raises:
            InputError: if something in the request can't be used; then nothing is created.
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
                run_set,
                name=(request.name or "").strip() or f"{config.algorithm} on {config.env_id}",
                env_id=config.env_id,
                algorithm=config.algorithm,
                config=config.model_dump(),
                tags=request.tags,
                owner=owner,
                parent=config.init_from and PolicyAddress.parse(config.init_from).run_id,
            )
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(f"The runs folder can't be written: {reason}.") from error
        _log.info("Run %s created", run.id)
        await self._write_events(run, request, config)
        if run_set is not None and (near := nearest_seeds(run_set.spec["seeds"], config.n_envs)):
            message = _nearness(*near, config.n_envs)
            await self._journal.add_event(run.id, "seeds_near", message, level=EventLevel.WARNING)
        if config.seed in EVALUATION_SEEDS or config.seed + config.n_envs - 1 in EVALUATION_SEEDS:
            message = (
                f"Seed {config.seed} is one of those of evaluations, so that training begins with "
                "an episode that may be evaluated. Seeds below a million are not."
            )
            await self._journal.add_event(
                run.id, "seed_of_evaluations", message, level=EventLevel.WARNING
            )
        return self._journal.announce(run)

    async def _write_events(self, run: RunRecord, request: RunRequest, config: RunConfig) -> None:
        await self._journal.add_event(run.id, "created", _describe(config))
        if request.env_id != config.env_id:
            message = _about_other_id(request.env_id, config.environment)
            await self._journal.add_event(run.id, "environment_mapped", message)
        if config.init_from is not None:
            message = f"Starts with the policy of run {config.init_from}."
            message = " ".join(filter(None, [message, describe_exploration(config)]))
            await self._journal.add_event(run.id, "transferred", message)
        if config.reward_code is not None:
            message = (
                "Trains on a custom reward (reward.py). Mean reward, solved, evaluations and the "
                "live view use the environment's reward."
            )
            await self._journal.add_event(run.id, "reward_written", message)
        if (why := _why_never_learning(config)) is not None:
            message = f"Learning never starts: {why}."
            await self._journal.add_event(run.id, "never_learns", message, level=EventLevel.WARNING)
        if get_algorithm(config.algorithm).family is Family.SEARCH:
            message = (
                f"{config.algorithm} trains with randomly perturbed copies of the policy: the mean "
                "reward is theirs. Evaluations and the live view play the policy itself."
            )
            await self._journal.add_event(run.id, "perturbed", message)
        if off := config.wrappers.disturbances:
            words = ", ".join(name.replace("_", " ") for name in off)
            message = f"Evaluations and the live view disable: {words}."
            await self._journal.add_event(run.id, "evaluation_differs", message)

    async def _policy_of(self, config: RunConfig) -> bytes | None:
        """Return the policy that a run starts from, None if it starts from scratch."""
        if config.init_from is None:
            return None
        address = PolicyAddress.parse(config.init_from)
        try:
            source = await self._storage(runs.get_run, address.run_id)
        except RunNotFoundError as error:
            raise InputError(str(error), field="init_from") from None
        check_transfer(config, config_of(source))
        folder = self._folder.run(source.id)
        found = await asyncio.to_thread(read_policy, folder, address.which, field="init_from")
        if found is None:
            raise InputError("The run to start from has no policy yet.", field="init_from")
        return found.weights


async def _configure(request: RunRequest) -> RunConfig:
    if request.reward_code is None:
        return RunConfig.from_request(request)
    # Parsing a user's code may take too long for the event loop.
    return await asyncio.to_thread(RunConfig.from_request, request)


def _add_run(
    folder: LabFolder, policy: bytes | None, run_set: RunSetRecord | None, **values: Any
) -> RunRecord:
    """Add a run, and the set if it is the first of one, to database and disk, or to neither."""
    run = None
    try:
        with transaction():
            if run_set is not None:
                run_sets.add_run_set(run_set)
            run = runs.create_run(**values, group_id=run_set and run_set.id)
            folder.run(run.id).create(run.config, policy)
    except BaseException:
        if run is not None:
            folder.run(run.id).remove()
        raise
    return run


def _why_never_learning(config: RunConfig) -> str | None:
    """Return why the run would never change its networks, if so."""
    starts = config.hyperparameters.get("learning_starts", 0)
    assert isinstance(starts, int)
    if config.total_timesteps <= starts:
        budget = config.total_timesteps
        return f"learning_starts is {starts:,}, and the budget {budget:,} steps"
    if config.hyperparameters.get("gradient_steps") == 0:
        return "gradient_steps is 0"
    return None


def _nearness(low: int, high: int, n_envs: int) -> str:
    return (
        f"The seeds {low} and {high} of this group are nearer than its {n_envs} parallel "
        "environments, which have the seeds that follow: these runs share environments and are "
        f"not independent. Choose seeds at least {n_envs} apart."
    )


def _about_other_id(env_id: str, environment: EnvSpec) -> str:
    if env_id in environment.aliases:
        options = ", ".join(f"{k}={v}" for k, v in environment.aliases[env_id].items())
        return f"{env_id} is {environment.id} with {options}; the run uses that."
    return f"{env_id} is an earlier version; the run uses {environment.id}."


def _describe(config: RunConfig) -> str:
    return (
        f"{config.algorithm} on {config.environment.label}: {config.total_timesteps:,} steps, "
        f"{config.n_envs} parallel environment{'s' if config.n_envs > 1 else ''}, "
        f"seed {config.seed}."
    )
