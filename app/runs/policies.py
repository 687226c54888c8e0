"""Take a policy of a run to play it or to begin with it: the newest one from its worker."""

import asyncio

from app.runs.service import RunService
from app.runs.stored_policies import Policy, Which, find_policy, read_policy
from app.workers.errors import WorkerGoneError
from storage.errors import WrongStateError
from storage.records.runs import RunRecord

_HANDED_OUT_WITHIN_S = 60.0


async def check_has_policy(trainer: RunService, run: RunRecord, which: Which) -> None:
    """Refuse what can't be evaluated, before anybody waits for it.

    Raises:
        InputError: if the run has no such policy.
        WrongStateError: if it has no policy at all, or its code may not run here any more.
    """
    await check_code(trainer, run)
    if which is None and run.status.has_worker:
        return
    folder = trainer.folder(run.id)
    if await asyncio.to_thread(find_policy, folder, which, field="checkpoint") is None:
        raise _none_yet(run, "be evaluated")


async def take_policy(
    trainer: RunService, run: RunRecord, which: Which, *, doing: str = "be evaluated"
) -> Policy:
    """Return a policy, the newest one from the worker that trains it.

    Raises:
        InputError: if the run has no such policy.
        WrongStateError: if it has no policy at all; `doing` is what it can't do then.
    """
    if which is None and (handed_out := await _from_the_worker(trainer, run.id)) is not None:
        return handed_out
    folder = trainer.folder(run.id)
    found = await asyncio.to_thread(read_policy, folder, which, field="checkpoint")
    if found is None:
        raise _none_yet(run, doing)
    return found


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
    return None if policy is None else Policy(policy.weights, policy.header.timesteps)


def _none_yet(run: RunRecord, doing: str) -> WrongStateError:
    return WrongStateError(run.id, run.status, f"{doing}: it has no policy yet. Train it first")
