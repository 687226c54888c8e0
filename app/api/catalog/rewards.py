"""Rewards that people write, checked before anything is trained with them."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StrictStr

from app.api.shared.dependencies import TheLab, TheVisitor
from app.api.shared.schemas import Listing
from app.authoring.rewards.report import RANK_METHOD, Probe, RewardReport, Trajectories
from app.code_check.problems import Problem, Severity
from app.code_check.static_check import LONGEST
from app.protocol import messages
from app.run_config.config import ShortText


class RewardToCheck(BaseModel):
    """A reward, and the environment that it is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: Annotated[StrictStr, Field(max_length=LONGEST)]
    """A file of Python that defines `reward`, `reward_function` or a class `Reward`."""
    env_id: ShortText
    env_kwargs: dict[str, Any] = {}


class CodeProblem(BaseModel):
    """Something wrong with the code; lines and columns are counted from 1."""

    line: int
    column: int
    severity: Severity
    message: str
    end_line: int | None
    end_column: int | None

    @classmethod
    def of(cls, problem: Problem) -> "CodeProblem":
        """Describe a problem."""
        return cls(
            line=problem.line,
            column=problem.column,
            severity=problem.severity,
            message=problem.message,
            end_line=problem.end_line,
            end_column=problem.end_column,
        )


class RewardTerm(BaseModel):
    """One term over all recorded steps of random, medium and good trajectories."""

    name: str
    mean: float
    std: float
    min: float
    max: float
    share: float
    """Its part of all that is paid, signs aside."""
    outliers: int
    """How many values are farther from the mean than four standard deviations."""
    histogram: list[int]
    """How many values are in each of twelve bins of equal width, from `min` to `max`."""

    @classmethod
    def of(cls, term: messages.Term) -> "RewardTerm":
        """Describe a term."""
        return cls(
            name=term.name,
            mean=term.mean,
            std=term.std,
            min=term.min,
            max=term.max,
            share=term.share,
            outliers=term.outliers,
            histogram=list(term.histogram),
        )


class RecordedTrajectories(BaseModel):
    """Recorded episodes of one way of acting, and what they are paid."""

    name: str
    origin: str
    episodes: int
    mean_length: float
    mean_return: float
    """By the reward that is checked."""
    discounted_return: float
    """The same with a discount of 0.99 for each step."""
    true_return: float
    """By the environment's own."""

    @classmethod
    def of(cls, recorded: Trajectories) -> "RecordedTrajectories":
        """Describe trajectories."""
        return cls(**cls.facts(recorded))

    @staticmethod
    def facts(recorded: Trajectories) -> dict[str, Any]:
        """Return what is said of them."""
        return {
            "name": recorded.name,
            "origin": recorded.origin,
            "episodes": recorded.episodes,
            "mean_length": recorded.mean_length,
            "mean_return": recorded.mean_return,
            "discounted_return": recorded.discounted_return,
            "true_return": recorded.true_return,
        }


class RewardProbe(RecordedTrajectories):
    """A way of acting that needs no skill."""

    hackable: bool
    """Whether it is paid more than good trajectories although it is worth much less."""

    @classmethod
    def of_probe(cls, probe: Probe) -> "RewardProbe":
        """Describe a probe."""
        return cls(**cls.facts(probe.trajectories), hackable=probe.is_hack)


class RewardFinding(BaseModel):
    """One sentence about the reward as a whole."""

    severity: Severity
    message: str


class RewardCheck(BaseModel):
    """What a check found; without a dry run there are only problems."""

    ok: bool
    """Whether a training can begin with it."""
    problems: list[CodeProblem]
    terms: list[RewardTerm]
    trajectories: list[RecordedTrajectories]
    probes: list[RewardProbe]
    hackable_by: list[str]
    """The probes that are paid more than good trajectories."""
    findings: list[RewardFinding]
    rank_agreement: float | None
    """From -1 to 1: how far it orders trajectories as their true return does."""
    rank_method: str
    microseconds: float | None
    """How long a call takes."""
    step_microseconds: float | None
    """How long a step of the environment takes without it."""
    step_share: float | None
    """Which part of a step in training a call would take, learning aside."""
    steps: int
    """How many recorded steps the terms are about."""

    @classmethod
    def of(cls, report: RewardReport) -> "RewardCheck":
        """Describe a report."""
        return cls(
            ok=report.is_ok,
            problems=[CodeProblem.of(problem) for problem in report.problems],
            terms=[RewardTerm.of(term) for term in report.terms],
            trajectories=[RecordedTrajectories.of(one) for one in report.trajectories],
            probes=[RewardProbe.of_probe(probe) for probe in report.probes],
            hackable_by=report.hackable_by,
            findings=[
                RewardFinding(severity=f.severity, message=f.message) for f in report.findings
            ],
            rank_agreement=report.rank_agreement,
            rank_method=RANK_METHOD,
            microseconds=report.microseconds,
            step_microseconds=report.step_microseconds,
            step_share=report.step_share,
            steps=report.steps,
        )


class RewardTemplate(BaseModel):
    """A reward to begin with."""

    id: str
    name: str
    about: str
    code: str


router = APIRouter(prefix="/reward", tags=["rewards"])


@router.get("/templates")
async def templates(
    lab: TheLab, visitor: TheVisitor, env_id: str = Query(max_length=200)
) -> Listing[RewardTemplate]:
    """Return rewards to begin with in an environment; the first is its own, unchanged."""
    spec = await lab.environments.find(env_id, may_ask=visitor.may_work)
    items = [
        RewardTemplate(id=one.id, name=one.name, about=one.about, code=one.code)
        for one in lab.rewards.templates(spec)
    ]
    return Listing(items=items)


@router.post("/check")
async def check(wanted: RewardToCheck, lab: TheLab, visitor: TheVisitor) -> RewardCheck:
    """Say what is wrong with a reward, and what it pays for recorded episodes.

    Also a syntax error is an answer (200, `ok` false). The first check of an environment takes
    longer, because its episodes are recorded then.
    """
    report = await lab.rewards.check(visitor, wanted.code, wanted.env_id, wanted.env_kwargs)
    return RewardCheck.of(report)
