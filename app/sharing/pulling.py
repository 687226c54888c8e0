"""Load a model from the Hugging Face Hub as a run that can be evaluated.

The web process moves its bytes and never looks inside; locked workers do.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.accounts.errors import HubNotReachedError
from app.core.errors import InputError
from app.core.storage_thread import StorageThread
from app.discovery.environment_finder import EnvironmentFinder
from app.protocol import commands, messages
from app.run_config.config import RunConfig, RunRequest
from app.runs.service import RunService
from app.sharing import hub
from app.sharing.hub_orders import Failed, Pull, Pulled
from app.sharing.publishing import Wish
from app.workers.errors import JobError, JobRefusedError
from app.workers.job import Job
from app.workers.pool import WorkerPool
from storage.database import runs
from storage.database.database import in_one_step
from storage.files.lab_folder import Arrival, LabFolder
from storage.files.run_folder import RunFolder
from storage.records.runs import RunRecord, RunStatus

_WITHIN_S = 120.0
_LARGEST = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PullWish:
    """Which model to load."""

    repo_id: str
    filename: str | None = None
    env_id: str | None = None
    """Where the Hub doesn't say which environment it plays."""

    def __post_init__(self) -> None:
        Wish(repo_id=self.repo_id)
        if "/" not in self.repo_id:
            raise InputError("repo_id must be owner/name, as the Hub has it.", field="repo_id")


class Pulls:
    """Downloads, has a worker look, and makes a run of what it says."""

    def __init__(
        self,
        folder: LabFolder,
        storage: StorageThread,
        environments: EnvironmentFinder,
        trainer: RunService,
        pool: WorkerPool,
    ) -> None:
        self._folder = folder
        self._storage = storage
        self._environments = environments
        self._trainer = trainer
        self._pool = pool
        self._one_at_a_time = asyncio.Lock()

    async def pull(self, wish: PullWish, *, owner: str | None) -> RunRecord:
        """Make a run of a public model.

        Raises:
            InputError: if there is none that the lab can play; then nothing is left of it.
        """
        async with self._one_at_a_time:
            arrival = await asyncio.to_thread(self._folder.begin_arrival)
            try:
                return await self._take(wish, arrival, owner)
            finally:
                await asyncio.to_thread(arrival.remove)

    async def _take(self, wish: PullWish, arrival: Arrival, owner: str | None) -> RunRecord:
        files = arrival.folder
        await asyncio.to_thread(files.path.mkdir)
        order = Pull(
            endpoint=hub.endpoint(),
            repo_id=wish.repo_id,
            filename=wish.filename,
            model_to=str(files.model),
            scaling_to=str(files.delivered["vecnormalize.pkl"]),
        )
        found = await hub.pull(order)
        if isinstance(found, Failed) and found.code == "no_network":
            raise HubNotReachedError(found.sentence)
        if isinstance(found, Failed):
            raise InputError(found.sentence, field="repo_id")
        config = await self._config(wish, found, files)
        model = await asyncio.to_thread(files.model.read_bytes)
        scaling = await asyncio.to_thread(_content, files.delivered["vecnormalize.pkl"])
        command = commands.Adopt(setup=config.setup(), model_size=len(model))
        async with self._opened(command, model + scaling) as job:
            policy = await job.file("policy.pt", at_most=_LARGEST)
        values = {
            "name": wish.repo_id[:200],
            "env_id": config.env_id,
            "algorithm": config.algorithm,
            "config": config.model_dump(),
            "owner": owner,
            "timesteps": config.total_timesteps,
        }
        run = await self._storage(_add, self._folder, arrival, policy, values)
        message = f"Pulled from {hub.endpoint()}/{wish.repo_id}: {found.filename}."
        return await self._trainer.announce_import(run, message)

    async def _config(self, wish: PullWish, found: Pulled, files: RunFolder) -> RunConfig:
        env_id = wish.env_id or found.env_id
        if env_id is None:
            raise InputError(
                f"{wish.repo_id} doesn't say which environment it plays. Name it.", field="env_id"
            )
        model = await asyncio.to_thread(files.model.read_bytes)
        async with self._opened(commands.Examine(), model) as job:
            said = await job.answer(messages.Examined)
        scaling = await asyncio.to_thread(files.delivered["vecnormalize.pkl"].is_file)
        await self._environments.find(env_id, {})
        request = RunRequest(
            env_id=env_id,
            algorithm=said.algorithm,
            hyperparameters={
                "net_arch": said.net_arch,
                "activation_fn": said.activation_fn,
                **said.more,
            },
            total_timesteps=max(1, said.timesteps),
            wrappers={"normalize_observation": True} if scaling else {},
            seed=0,
        )
        return RunConfig.from_request(request)

    @asynccontextmanager
    async def _opened(
        self, command: commands.Adopt | commands.Examine, model: bytes
    ) -> AsyncIterator[Job]:
        """Have a worker open a model; say so if it refuses or comes to no end with it."""
        try:
            async with self._pool.job(
                command,
                file=("model.zip", model),
                slot=self._pool.side_slots.for_a_test(),
                within_s=_WITHIN_S,
            ) as job:
                yield job
        except JobRefusedError as error:
            raise InputError(str(error), field="repo_id") from error
        except JobError as error:
            text = f"The model can't be opened: {error}."
            raise InputError(text, field="repo_id") from error


def _content(path: Path) -> bytes:
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def _add(
    folder: LabFolder, arrival: Arrival, policy: bytes, values: Mapping[str, Any]
) -> RunRecord:
    """Add a run to the database and to the disk, or to neither."""
    now, moved = datetime.now(UTC), None
    try:
        with in_one_step():
            ended: dict[str, Any] = {
                "status": RunStatus.COMPLETED,
                "started_at": now,
                "finished_at": now,
            }
            run = runs.create_run(**values, **ended)
            files = arrival.folder
            files.save_config(run.config)
            files.policy.write_bytes(policy)
            files.save_step(files.policy, int(values["timesteps"]))
            moved = folder.run(run.id)
            arrival.move_in(moved)
    except BaseException:
        if moved is not None:
            moved.remove()
        raise
    return run
