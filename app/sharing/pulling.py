"""Load a model from the Hugging Face Hub as a run that can be evaluated.

The web process only moves the bytes and never parses them; sandboxed workers do.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.accounts import HubNotReachedError
from app.catalog.algorithms import get_algorithm
from app.core import InputError, StorageThread
from app.discovery import EnvironmentFinder
from app.protocol import commands, messages
from app.run_config import (
    MAX_N_ENVS,
    MAX_SEED,
    MAX_TIMESTEPS,
    Origin,
    RunConfig,
    RunRequest,
)
from app.runs import RunService
from app.sharing import hub
from app.sharing.hub_messages import Failed, Pull, Pulled
from app.sharing.importing import too_large
from app.sharing.publishing import PublishRequest
from app.workers import Job, JobError, JobRefusedError, WorkerPool
from storage.database import runs, transaction
from storage.files import IncomingRun, LabFolder
from storage.records import Allowance, RunRecord, RunStatus

_WITHIN_S = 120.0
_LARGEST = 256 << 20
_OF_THE_POLICY = ("n_critics", "n_quantiles")
"""Hyperparameters without which the weights don't fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """The model to load."""

    repo_id: str
    filename: str | None = None
    env_id: str | None = None
    """The environment it plays, for repositories that don't name it."""

    def __post_init__(self) -> None:
        PublishRequest(repo_id=self.repo_id)
        if "/" not in self.repo_id:
            raise InputError("repo_id must be owner/name, as on the Hub.", field="repo_id")


class Pulls:
    """Downloads models, has a worker examine them, and creates runs from them."""

    def __init__(
        self,
        folder: LabFolder,
        storage: StorageThread,
        environments: EnvironmentFinder,
        runs: RunService,
        pool: WorkerPool,
    ) -> None:
        self._folder = folder
        self._storage = storage
        self._environments = environments
        self._runs = runs.unchecked
        self._pool = pool
        self._one_at_a_time = asyncio.Lock()

    async def pull(self, request: PullRequest, allowance: Allowance) -> RunRecord:
        """Create a run from a public model.

        Raises:
            InputError: if there is none that the lab can play; then no files remain.
            OverLimitError: if it doesn't fit into the disk quota.
        """
        async with self._one_at_a_time:
            incoming = await asyncio.to_thread(self._folder.begin_import)
            try:
                return await self._download_and_add(request, incoming, allowance)
            finally:
                await asyncio.to_thread(incoming.remove)

    async def _download_and_add(
        self, request: PullRequest, incoming: IncomingRun, allowance: Allowance
    ) -> RunRecord:
        files = incoming.folder
        await asyncio.to_thread(files.path.mkdir)
        order = Pull(
            endpoint=hub.endpoint(),
            repo_id=request.repo_id,
            filename=request.filename,
            model_to=str(files.model),
            normalization_to=str(files.delivered["vecnormalize.pkl"]),
        )
        found = await hub.pull(order)
        if isinstance(found, Failed) and found.code == "no_network":
            raise HubNotReachedError(found.message)
        if isinstance(found, Failed):
            raise InputError(found.message, field="repo_id")
        model = await asyncio.to_thread(files.model.read_bytes)
        normalization = await asyncio.to_thread(_content, files.delivered["vecnormalize.pkl"])
        config = await self._config(request, found, model, is_normalized=bool(normalization))
        command = commands.ConvertModel(setup=config.setup(), model_size=len(model))
        async with self._opened(command, model + normalization) as job:
            policy = await job.file("policy.pt", at_most=_LARGEST)
        _check_fits(len(model) + len(normalization) + len(policy), allowance.max_bytes)
        values = {
            "name": request.repo_id[:200],
            "env_id": config.env_id,
            "algorithm": config.algorithm,
            "config": config.model_dump(),
            "owner": allowance.owner,
            "timesteps": config.total_timesteps,
        }
        run = await self._storage(_add_run, self._folder, incoming, policy, values)
        return await self._runs.announce_import(run, _announcement(config))

    async def _config(
        self, request: PullRequest, found: Pulled, model: bytes, *, is_normalized: bool
    ) -> RunConfig:
        env_id = request.env_id or found.env_id
        if env_id is None:
            raise InputError(
                f"{request.repo_id} doesn't name its environment. Specify it.", field="env_id"
            )
        async with self._opened(commands.Examine(), model) as job:
            examined = await job.answer(messages.Examined)
        await self._environments.find(env_id, {})
        wrappers = {"normalize_observation": True} if is_normalized else {}
        config, unknown = _adopt(env_id, examined, wrappers)
        source = f"{hub.endpoint()}/{request.repo_id}"
        origin = Origin(source=source[:500], file=found.filename[:500], unknown=unknown)
        return config.model_copy(update={"origin": origin})

    @asynccontextmanager
    async def _opened(
        self, command: commands.ConvertModel | commands.Examine, model: bytes
    ) -> AsyncIterator[Job]:
        """Have a worker open a model; raise InputError if it refuses, fails or times out."""
        try:
            async with self._pool.job(
                command,
                file=("model.zip", model),
                slot=self._pool.side_slots.priority_slot(),
                within_s=_WITHIN_S,
            ) as job:
                yield job
        except JobRefusedError as error:
            raise InputError(str(error), field="repo_id") from error
        except JobError as error:
            text = f"The model can't be opened: {error}."
            raise InputError(text, field="repo_id") from error


def _adopt(
    env_id: str, examined: messages.Examined, wrappers: Mapping[str, Any]
) -> tuple[RunConfig, tuple[str, ...]]:
    """Return a config with the values of a file, and the names of those that it can't have.

    Raises:
        InputError: if the lab can't build the network, or play the environment with it.
    """
    known = {one.name for one in get_algorithm(examined.algorithm).hyperparameters}
    own = {name: value for name, value in examined.hyperparameters.items() if name in known}
    network = {"net_arch": examined.net_arch, "activation_fn": examined.activation_fn}
    unknown = known & set(examined.unknown)
    n_envs = _within(examined.n_envs, 1, MAX_N_ENVS)
    seed = _within(examined.seed, 0, MAX_SEED)
    unknown |= {name for name, one in (("n_envs", n_envs), ("seed", seed)) if one is None}
    while True:
        request = RunRequest(
            env_id=env_id,
            algorithm=examined.algorithm,
            hyperparameters={**own, **network},
            total_timesteps=min(max(1, examined.timesteps), MAX_TIMESTEPS),
            wrappers=dict(wrappers),
            n_envs=n_envs,
            seed=seed or 0,
        )
        try:
            return RunConfig.from_request(request), tuple(sorted(unknown))
        except InputError as error:
            name = (error.field or "").removeprefix("hyperparameters.")
            if name not in own or name in _OF_THE_POLICY:
                raise
            # The lab can't have this value, so it has its own default there, and says so.
            del own[name]
            unknown.add(name)


def _within(value: int | None, low: int, high: int) -> int | None:
    return value if value is not None and low <= value <= high else None


def _check_fits(size: int, max_bytes: int | None) -> None:
    if max_bytes is not None and size > max_bytes:
        raise too_large("The model", size, max_bytes)


def _announcement(config: RunConfig) -> str:
    assert config.origin is not None
    message = f"Pulled from {config.origin.source}: {config.origin.file}."
    if config.origin.unknown:
        message += (
            " Its hyperparameters are those of the file, but it doesn't tell these, or the lab "
            f"can't have their values, so they show defaults: {', '.join(config.origin.unknown)}."
        )
    return message


def _content(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def _add_run(
    folder: LabFolder, incoming: IncomingRun, policy: bytes, values: Mapping[str, Any]
) -> RunRecord:
    """Add a run to the database and to the disk atomically."""
    now, moved = datetime.now(UTC), None
    try:
        with transaction():
            ended: dict[str, Any] = {
                "status": RunStatus.COMPLETED,
                "started_at": now,
                "finished_at": now,
            }
            run = runs.create_run(**values, **ended)
            files = incoming.folder
            files.save_config(run.config)
            files.policy.write_bytes(policy)
            files.save_step(files.policy, int(values["timesteps"]))
            moved = folder.run(run.id)
            incoming.move_to(moved)
    except BaseException:
        if moved is not None:
            moved.remove()
        raise
    return run
