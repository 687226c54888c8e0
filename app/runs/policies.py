"""Load a policy of a run, to play it or to start from it: the newest one from its worker."""

import asyncio

from app.runs.stored_policies import Policy, Which, find_policy, read_policy
from app.runs.unchecked import UncheckedRuns
from app.workers import WorkerGoneError
from storage import WrongStateError
from storage.records import RunRecord

_POLICY_WITHIN_S = 60.0


async def check_has_policy(runs: UncheckedRuns, run: RunRecord, which: Which) -> None:
    """Refuse a policy that can't be evaluated, before the evaluation is queued.

    Raises:
        InputError: if the run has no such policy.
        WrongStateError: if it has no policy at all, or its code may no longer run here.
    """
    await check_code(runs, run)
    if which is None and run.status.has_worker:
        return
    folder = runs.folder(run.id)
    if await asyncio.to_thread(find_policy, folder, which, field="checkpoint") is None:
        raise _no_policy(run, "be evaluated")


async def load_policy(
    runs: UncheckedRuns, run: RunRecord, which: Which, *, doing: str = "be evaluated"
) -> Policy:
    """Return a policy, the newest one from the worker that trains it.

    Raises:
        InputError: if the run has no such policy.
        WrongStateError: if it has no policy at all; `doing` completes "can't ..." in the message.
    """
    if which is None and (newest := await _from_worker(runs, run.id)) is not None:
        return newest
    folder = runs.folder(run.id)
    found = await asyncio.to_thread(read_policy, folder, which, field="checkpoint")
    if found is None:
        raise _no_policy(run, doing)
    return found


async def check_code(runs: UncheckedRuns, run: RunRecord) -> None:
    """Make sure that a worker may run the code in a run, if there is any.

    Raises:
        WrongStateError: if workers are sandboxed less strictly than when it was added.
    """
    if (reason := await runs.code_refusal(run)) is not None:
        raise WrongStateError(run.id, run.status, f"be played. {reason}".removesuffix("."))


async def _from_worker(runs: UncheckedRuns, run_id: str) -> Policy | None:
    try:
        async with asyncio.timeout(_POLICY_WITHIN_S):
            policy = await runs.newest_policy(run_id)
    except (WorkerGoneError, TimeoutError):
        # The run ended meanwhile, or its policy is too large for the pipe: a file has it.
        return None
    return None if policy is None else Policy(policy.weights, policy.header.timesteps)


def _no_policy(run: RunRecord, doing: str) -> WrongStateError:
    return WrongStateError(run.id, run.status, f"{doing}: it has no policy yet. Train it first")
