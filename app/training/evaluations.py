"""Judge a run's policy on demand: play whole episodes in a worker and keep what they say."""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from app.errors import InputError, short
from app.training.backend import LocalWorker, ProtocolError, WorkerGoneError
from app.training.config import RunConfig
from app.training.evaluation import Evaluation, Judging, summarise
from app.training.trainer import Trainer
from app.training.workers import WorkerPool
from app.worker import framing, messages
from storage.records import RunRecord
from storage.run_folder import RunFolder

BEST = "best"
"""The policy that evaluations beside training liked best."""

_Told = Callable[[int], None] | None
_PER_EPISODE_S = 600.0


class EvaluationError(Exception):
    """An evaluation could not be brought to its end."""


class Evaluations:
    """Plays the policies of runs in workers and stores what came of it."""

    def __init__(self, trainer: Trainer, pool: WorkerPool) -> None:
        self._trainer = trainer
        self._pool = pool

    async def evaluate(self, run_id: str, judging: Judging, *, told: _Told = None) -> Evaluation:
        """Play whole episodes and return what they say; `told` hears how many are over.

        Raises:
            InputError: if the run has no such policy.
            EvaluationError: if the worker did not play to the end.
        """
        run = await self._trainer.get(run_id)
        folder = self._trainer.folder(run_id)
        config = RunConfig.model_validate(run.config)
        policy = await asyncio.to_thread(_find_policy, run, folder, judging.checkpoint)
        weights = await asyncio.to_thread(policy.path.read_bytes)
        said = await self._play(config, judging, policy.frame(weights), told)
        left_out = config.wrappers.disturbances
        found = await asyncio.to_thread(
            summarise, run.id, judging, said, policy.timesteps, left_out
        )
        await asyncio.to_thread(folder.save_evaluation, found.id, asdict(found))
        return found

    async def _play(
        self, config: RunConfig, judging: Judging, frame: bytes, told: _Told
    ) -> messages.Evaluated:
        order = messages.Evaluate(
            setup=config.setup(),
            episodes=judging.episodes,
            seed=judging.seed,
            deterministic=judging.deterministic,
            tells_each=True,
        )
        try:
            worker = await self._pool.take()
        except (WorkerGoneError, ProtocolError, OSError) as error:
            raise EvaluationError(f"The worker could not be started: {error}.") from error
        try:
            worker.send(messages.encode(order))
            worker.send(frame)
            return await _listen(worker, judging.episodes, told)
        except (WorkerGoneError, ProtocolError, TimeoutError) as error:
            reason = str(error) or f"an episode took more than {_PER_EPISODE_S:g} s"
            raise EvaluationError(f"The evaluation failed: {reason}.") from error
        finally:
            worker.kill()
            await worker.wait()


async def _listen(worker: LocalWorker, episodes: int, told: _Told) -> messages.Evaluated:
    while True:
        async with asyncio.timeout(_PER_EPISODE_S):
            said = await worker.receive()
        match said:
            case messages.Played(episodes=played):
                if told is not None:
                    told(played)
            case messages.Evaluated() if said.is_whole(episodes):
                return said
            case messages.Failed(reason=reason):
                raise ProtocolError(reason)
            case _:
                raise ProtocolError(f"{type(said).__name__} instead of an evaluation")


@dataclass(frozen=True, slots=True)
class _Policy:
    """A policy on disk; only a worker opens it."""

    path: Path
    timesteps: int | None

    def frame(self, weights: bytes) -> bytes:
        """Pack the weights for a worker."""
        header = messages.WeightsHeader(
            episode=0, timesteps=self.timesteps or 0, purpose="evaluation"
        )
        return framing.pack_with_header(framing.WEIGHTS, msgspec.json.encode(header), weights)


def _find_policy(run: RunRecord, folder: RunFolder, wanted: int | str | None) -> _Policy:
    checkpoints = {file.timesteps: file.policy for file in folder.checkpoints}
    if wanted is None:
        if (newest := folder.newest_policy()) is not None:
            return _Policy(*newest)
        raise InputError(f"Run {run.id} has no policy yet. Train it first.", field="run")
    if wanted == BEST and folder.best_policy.is_file():
        return _Policy(folder.best_policy, None)
    if isinstance(wanted, int) and wanted in checkpoints:
        return _Policy(checkpoints[wanted], wanted)
    steps = ", ".join(map(str, checkpoints)) or "none"
    if wanted == BEST:
        raise InputError(
            f"Run {run.id} has no best policy: it wasn't evaluated while it trained. "
            f"Its checkpoints: {steps}.",
            field="checkpoint",
        )
    raise InputError(
        f"checkpoint must be best or a step of which run {run.id} has one ({steps}), "
        f"got {short(wanted)}.",
        field="checkpoint",
    )
