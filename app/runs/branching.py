"""Go on from a run with another reward, as a run of its own."""

import asyncio
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from app.run_config.config import MAX_NAME, MAX_TIMESTEPS, Name, RewardCode, RunRequest, WholeNumber
from app.run_config.repeating import request_like
from app.runs.execution.policy_snapshots import weights_of
from app.runs.service import RunService
from app.workers.errors import WorkerGoneError
from storage.errors import WrongStateError
from storage.records.runs import RunRecord

_HANDED_OUT_WITHIN_S = 60.0
_SUFFIX = " (other reward)"


class BranchRequest(BaseModel):
    """What is to be different about a run that goes on from another."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reward_code: RewardCode | None
    """The reward to learn from; null: the environment's own."""
    total_timesteps: WholeNumber | None = Field(default=None, ge=1, le=MAX_TIMESTEPS)
    """Its budget; null: what was left of the other run's, or all of it once more."""
    name: Name | None = None
    start: StrictBool = False


@dataclass(frozen=True, slots=True)
class _Policy:
    """What a branch begins with, and when that was."""

    weights: bytes
    timesteps: int


def branch_request(run: RunRecord, wish: BranchRequest) -> RunRequest:
    """Return the request for a run that is like another but for what is wished."""
    left = run.total_timesteps - run.progress.timesteps
    changes = {
        "reward_code": wish.reward_code,
        "total_timesteps": wish.total_timesteps or (left if left > 0 else run.total_timesteps),
        "seed": run.config["seed"],
        "init_from": run.id,
        "name": wish.name or run.name[: MAX_NAME - len(_SUFFIX)] + _SUFFIX,
        "tags": list(run.tags),
        "start": wish.start,
    }
    return request_like(run.config).model_copy(update=changes)


async def make_branch(
    trainer: RunService, run: RunRecord, request: RunRequest, *, owner: str | None, tells: bool
) -> RunRecord:
    """Make a run that begins with the newest policy of another; `tells`: also in that one's log.

    Raises:
        WrongStateError: if that has no policy yet.
        InputError: if the reward can't be used. Nothing is left behind.
    """
    policy = await _newest(trainer, run)
    made = await trainer.create(request, owner=owner, policy=policy.weights)
    reward = "another reward function" if request.reward_code else "the environment's own reward"
    data = {"parent": run.id, "timesteps": policy.timesteps, "changed": ["reward_code"]}
    message = f"A branch of run {run.id} from step {policy.timesteps:,} on, with {reward}."
    await trainer.tell(made.id, "branched", message, data=data)
    if tells:
        message = f"Run {made.id} goes on from step {policy.timesteps:,} with {reward}."
        data = {"child": made.id, "timesteps": policy.timesteps}
        await trainer.tell(run.id, "branch_made", message, data=data)
    return await trainer.get(made.id)


async def _newest(trainer: RunService, run: RunRecord) -> _Policy:
    try:
        async with asyncio.timeout(_HANDED_OUT_WITHIN_S):
            policy = await trainer.newest_policy(run.id)
    except (WorkerGoneError, TimeoutError):
        # It ended meanwhile, or its policy is too large to be handed out: a file has it.
        policy = None
    if policy is not None:
        return _Policy(weights_of(policy), policy.header.timesteps)
    return await asyncio.to_thread(_read, trainer, run)


def _read(trainer: RunService, run: RunRecord) -> _Policy:
    found = trainer.folder(run.id).newest_policy()
    if found is None:
        wish = "be branched: it has no policy yet. Train it first"
        raise WrongStateError(run.id, run.status, wish)
    path, timesteps = found
    return _Policy(path.read_bytes(), timesteps)
