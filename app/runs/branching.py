"""Go on from a run with another reward, as a run of its own."""

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from app.run_config.config import MAX_NAME, MAX_TIMESTEPS, Name, RewardCode, RunRequest, WholeNumber
from app.run_config.derive import derive
from app.runs.policies import take_policy
from app.runs.service import RunService
from storage.records.runs import RunRecord

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


def branch_request(run: RunRecord, wish: BranchRequest) -> RunRequest:
    """Return the request for a run that is like another but for what is wished."""
    left = run.total_timesteps - run.progress.timesteps
    changes = {
        "reward_code": wish.reward_code,
        "total_timesteps": wish.total_timesteps or (left if left > 0 else run.total_timesteps),
        "init_from": run.id,
        "name": wish.name or run.name[: MAX_NAME - len(_SUFFIX)] + _SUFFIX,
        "tags": list(run.tags),
        "start": wish.start,
    }
    return derive(run.config, changes)


async def make_branch(
    trainer: RunService, run: RunRecord, request: RunRequest, *, owner: str | None, tells: bool
) -> RunRecord:
    """Make a run that begins with the newest policy of another; `tells`: also in that one's log.

    Raises:
        WrongStateError: if that has no policy yet.
        InputError: if the reward can't be used. Nothing is left behind.
    """
    policy = await take_policy(trainer, run, None, doing="be branched")
    step = policy.timesteps or 0
    made = await trainer.create(request, owner=owner, policy=policy.weights)
    reward = "another reward function" if request.reward_code else "the environment's own reward"
    data = {"parent": run.id, "timesteps": step, "changed": ["reward_code"]}
    message = f"A branch of run {run.id} from step {step:,} on, with {reward}."
    await trainer.tell(made.id, "branched", message, data=data)
    if tells:
        message = f"Run {made.id} goes on from step {step:,} with {reward}."
        data = {"child": made.id, "timesteps": step}
        await trainer.tell(run.id, "branch_made", message, data=data)
    return await trainer.get(made.id)
