"""Find the policy of a run that is to be played: the newest, the best, or that of a checkpoint."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import InputError, short
from app.protocol import messages
from app.runs.service import RunService
from app.workers.errors import WorkerGoneError
from storage.errors import WrongStateError
from storage.files.run_folder import RunFolder
from storage.records.runs import RunRecord

BEST = "best"
"""The policy that evaluations beside training liked best."""

Wanted = int | str | None
"""The step of a checkpoint, or `best`; None: the newest policy."""

_HANDED_OUT_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy, packed for a worker; nobody else opens it."""

    frame: bytes
    timesteps: int | None


async def check_has_policy(trainer: RunService, run: RunRecord, wanted: Wanted) -> None:
    """Refuse what can't be played, before anybody waits for it.

    Raises:
        InputError: if the run has no such checkpoint.
        WrongStateError: if it has no policy at all, or its code may not run here any more.
    """
    await check_code(trainer, run)
    if wanted is None and run.status.has_worker:
        return
    await asyncio.to_thread(_find, run, trainer.folder(run.id), wanted)


async def take_policy(trainer: RunService, run: RunRecord, wanted: Wanted) -> Policy:
    """Return a policy, the newest one from the worker that trains it.

    Raises:
        InputError, WrongStateError: as `check_has_policy`.
    """
    if wanted is None and (handed_out := await _from_the_worker(trainer, run.id)) is not None:
        return handed_out
    return await asyncio.to_thread(_read, run, trainer.folder(run.id), wanted)


async def check_code(trainer: RunService, run: RunRecord) -> None:
    """Make sure that a worker may be given the code in a run, if there is any.

    Raises:
        WrongStateError: if workers are locked in worse than when it came.
    """
    if (reason := await trainer.code_refusal(run)) is not None:
        raise WrongStateError(run.id, run.status, f"be played. {reason}".removesuffix("."))


async def _from_the_worker(trainer: RunService, run_id: str) -> Policy | None:
    try:
        async with asyncio.timeout(_HANDED_OUT_WITHIN_S):
            policy = await trainer.newest_policy(run_id)
    except (WorkerGoneError, TimeoutError):
        # It ended meanwhile, or its policy is too large to be handed out: a file has it.
        return None
    return None if policy is None else Policy(policy.frame, policy.header.timesteps)


def _read(run: RunRecord, folder: RunFolder, wanted: Wanted) -> Policy:
    path, timesteps = _find(run, folder, wanted)
    frame = messages.encode_weights(path.read_bytes(), timesteps=timesteps or 0)
    return Policy(frame, timesteps)


def _find(run: RunRecord, folder: RunFolder, wanted: Wanted) -> tuple[Path, int | None]:
    checkpoints = {file.timesteps: file.policy for file in folder.checkpoints}
    if wanted is None:
        if (newest := folder.newest_policy()) is not None:
            return newest
        raise WrongStateError(
            run.id, run.status, "be evaluated: it has no policy yet. Train it first"
        )
    if wanted == BEST and folder.best_policy.is_file():
        return folder.best_policy, None
    if isinstance(wanted, int) and wanted in checkpoints:
        return checkpoints[wanted], wanted
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
