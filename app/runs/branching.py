"""Branch a run: a new run starts from its policy with another reward."""

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from app.run_config import (
    MAX_NAME,
    MAX_TIMESTEPS,
    Name,
    RewardCode,
    RunRequest,
    WholeNumber,
    config_of,
    derive,
)
from app.runs.policies import load_policy
from app.runs.service import RunService
from storage.records import Allowance, RunRecord, VisibleRun

_SUFFIX = " (other reward)"


class BranchRequest(BaseModel):
    """What a branch changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reward_code: RewardCode | None
    """The custom reward to train on; null: the environment's own reward."""
    total_timesteps: WholeNumber | None = Field(default=None, ge=1, le=MAX_TIMESTEPS)
    """The budget; null: what is left of the parent's, or all of it if nothing is left."""
    name: Name | None = None
    start: StrictBool = False


def branch_request(run: RunRecord, changes: BranchRequest) -> RunRequest:
    """Return the request for a run like another one, except for these changes."""
    left = run.total_timesteps - run.progress.timesteps
    values = {
        "reward_code": changes.reward_code,
        "total_timesteps": changes.total_timesteps or (left if left > 0 else run.total_timesteps),
        "init_from": run.id,
        "name": changes.name or run.name[: MAX_NAME - len(_SUFFIX)] + _SUFFIX,
        "tags": list(run.tags),
        "start": changes.start,
    }
    return derive(config_of(run), values)


async def make_branch(
    runs: RunService,
    run: VisibleRun,
    request: RunRequest,
    allowance: Allowance,
    *,
    is_logged: bool,
) -> RunRecord:
    """Create a run that starts from the newest policy of another one.

    `is_logged`: add an event to the log of the parent, too.

    Raises:
        WrongStateError: if the parent has no policy yet.
        InputError: if the reward can't be used; then nothing is created.
    """
    unchecked = runs.unchecked
    policy = await load_policy(unchecked, run, None, doing="be branched")
    step = policy.timesteps or 0
    (made,) = await runs.create(allowance, request, policy=policy.weights)
    reward = "another custom reward" if request.reward_code else "the environment's own reward"
    data = {"parent": run.id, "timesteps": step, "changed": ["reward_code"]}
    message = f"Branch of run {run.id} from step {step:,}, with {reward}."
    await unchecked.add_event(made.id, "branched", message, data=data)
    if is_logged:
        message = f"Run {made.id} continues from step {step:,} with {reward}."
        data = {"child": made.id, "timesteps": step}
        await unchecked.add_event(run.id, "branch_made", message, data=data)
    return await unchecked.get(made.id)
