"""Check custom rewards before training; list reward templates."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field, StrictStr

from app.api.shared import Listing, RequestShape, Shape, TheLab, ThePrincipal
from app.authoring.rewards import RANK_METHOD
from app.code_check import MAX_CODE_BYTES, Severity
from app.run_config import ShortText


class RewardToCheck(RequestShape):
    """A custom reward and its environment."""

    code: Annotated[StrictStr, Field(max_length=MAX_CODE_BYTES)]
    """A Python file that defines `reward`, `reward_function` or a class `Reward`."""
    env_id: ShortText
    env_kwargs: dict[str, Any] = Field(default={})


class CodeProblem(Shape):
    """A problem in the code; lines and columns are counted from 1."""

    line: int
    column: int
    severity: Severity
    message: str
    end_line: int | None
    end_column: int | None


class RewardTerm(Shape):
    """A reward term over all recorded steps of random, medium and good trajectories."""

    name: str
    mean: float
    std: float
    min: float
    max: float
    share: float
    """Its share of the sum of absolute values of all terms."""
    outliers: int
    """Number of values more than four standard deviations from the mean."""
    histogram: list[int]
    """Counts in twelve bins of equal width, from `min` to `max`."""


class RecordedTrajectories(Shape):
    """Recorded episodes of one policy, and their returns."""

    name: str
    origin: str
    episodes: int
    mean_length: float
    mean_return: float
    """With the checked reward."""
    discounted_return: float
    """With the checked reward and a discount factor of 0.99."""
    true_return: float
    """With the environment's own reward."""


class RewardProbe(RecordedTrajectories):
    """A probe: a policy without skill, to detect reward hacking."""

    hackable: bool
    """Whether it gets more reward than good trajectories at a much lower true return."""


class RewardFinding(Shape):
    """One sentence about the reward as a whole."""

    severity: Severity
    message: str


class RewardCheck(Shape):
    """The result of a check; if the dry run was skipped, only `problems` is filled."""

    ok: bool = Field(validation_alias="is_ok")
    """Whether a training can use the reward."""
    problems: list[CodeProblem]
    terms: list[RewardTerm]
    trajectories: list[RecordedTrajectories]
    probes: list[RewardProbe]
    hackable_by: list[str]
    """Probes that get more reward than good trajectories."""
    findings: list[RewardFinding]
    rank_agreement: float | None
    """Rank correlation, from -1 to 1, with the true returns of trajectories."""
    rank_method: str = Field(default_factory=lambda: RANK_METHOD)
    microseconds: float | None
    """Duration of a call."""
    step_microseconds: float | None
    """Duration of an environment step without the reward."""
    step_share: float | None
    """Share of a call in the duration of a training step, without learning."""
    steps: int
    """Number of recorded steps behind the terms."""


class RewardTemplate(Shape):
    """A template for a custom reward."""

    id: str
    name: str
    about: str
    code: str


router = APIRouter(prefix="/reward", tags=["rewards"])


@router.get("/templates")
async def templates(
    lab: TheLab, principal: ThePrincipal, env_id: str = Query(max_length=200)
) -> Listing[RewardTemplate]:
    """Return reward templates for an environment; the first is its own reward, unchanged."""
    spec = await lab.environments.find(env_id, ask_worker=principal.may_work)
    found = lab.rewards.templates(spec)
    return Listing(items=[RewardTemplate.of(template) for template in found])


@router.post("/check")
async def check(body: RewardToCheck, lab: TheLab, principal: ThePrincipal) -> RewardCheck:
    """Check a custom reward, and evaluate it on recorded episodes.

    A syntax error is a normal answer (200, `ok` false). The first check of an environment takes
    longer, because it records the episodes.
    """
    report = await lab.rewards.check(principal, body.code, body.env_id, body.env_kwargs)
    return RewardCheck.of(
        report,
        probes=[
            RewardProbe.of(probe.trajectories, hackable=probe.is_hack) for probe in report.probes
        ],
    )
