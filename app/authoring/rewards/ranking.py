"""Judge a reward by what it pays for recorded episodes: does it order them, can it be tricked?"""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

from app.authoring.rewards.report import RANK_METHOD, Finding, Probe, RewardReport, Trajectories
from app.catalog.environments.spec import EnvSpec
from app.code_check.problems import Problem, Severity
from app.protocol.messages import RewardChecked, Scored

_HALF_WAY = 0.5
"""A trick that is worth this part of the way from random to good, or more, isn't one."""
_CLEARLY = 0.02
"""By which part a return must be larger to count as larger."""
_LITTLE = 0.2
"""Below this agreement a reward hardly orders episodes as their true return does."""
_SLOW_SHARE = 0.5
_SLOW_US = 20.0
"""What takes less doesn't matter, however fast the environment is."""
_SAME = 1e-9


def judge(problems: Sequence[Problem], checked: RewardChecked, spec: EnvSpec) -> RewardReport:
    """Return what is to be said of a reward."""
    played = [group for group in checked.groups if group.returns]
    whole = [group for group in played if group.kind != "probe"]
    best = next((g for kind in ("good", "medium") for g in whole if g.kind == kind), None)
    random = next((group for group in whole if group.kind == "random"), None)
    # Acting worse counts as a trick, too, where it is paid more.
    tried = [group for group in played if group is not best]
    probes = [
        Probe(trajectories=Trajectories.of(group), is_hack=_is_hack(group, best, random))
        for group in tried
    ]
    report = RewardReport(
        problems=problems,
        terms=checked.terms,
        trajectories=[Trajectories.of(group) for group in whole],
        probes=probes,
        rank_agreement=_rank_agreement(whole),
        microseconds=checked.microseconds,
        step_microseconds=checked.step_microseconds,
        steps=checked.steps,
    )
    is_known = any(group.kind == "good" for group in checked.groups)
    findings = _about_tricks(report, best, spec) if best or not is_known else []
    findings += _about_order(report, whole)
    return replace(report, findings=[*findings, *_about_time(report, checked)])


def kendall(ones: Sequence[float], others: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of pairs of numbers; None where one side is all the same."""
    agreeing = pairs = ties = other_ties = 0
    for i, (one, other) in enumerate(zip(ones, others, strict=True)):
        for one_before, other_before in zip(ones[:i], others[:i], strict=True):
            first, second = _sign(one - one_before), _sign(other - other_before)
            agreeing += first * second
            pairs += 1
            ties += first == 0
            other_ties += second == 0
    scale = sqrt((pairs - ties) * (pairs - other_ties))
    return agreeing / scale if scale else None


def _sign(difference: float) -> int:
    return 0 if abs(difference) < _SAME else 1 if difference > 0 else -1


def _rank_agreement(groups: Sequence[Scored]) -> float | None:
    paid = [value for group in groups for value in group.returns]
    true = [value for group in groups for value in group.own_returns]
    return kendall(paid, true)


def _is_hack(trick: Scored, best: Scored | None, random: Scored | None) -> bool:
    """Whether a trick is paid more than acting well although it is worth much less.

    The environment's own reward can't be accused of that: what it pays more for is worth more.
    """
    if best is None or random is None:
        return False
    one, good, nothing = (Trajectories.of(group) for group in (trick, best, random))
    way = good.true_return - nothing.true_return
    if way <= _CLEARLY * abs(good.true_return):
        # Those who act well aren't known to be better: nobody can be said to be worse.
        return False
    is_worth_less = one.true_return < nothing.true_return + _HALF_WAY * way
    # Both: the plain sum accuses shaping by a potential, which changes nothing, of paying idlers.
    return (
        is_worth_less
        and _is_clearly_more(one.mean_return, good.mean_return)
        and _is_clearly_more(one.discounted_return, good.discounted_return)
    )


def _is_clearly_more(one: float, other: float) -> bool:
    return one > other + _CLEARLY * max(abs(one), abs(other))


def _about_tricks(report: RewardReport, best: Scored | None, spec: EnvSpec) -> list[Finding]:
    if best is None:
        text = f"No good trajectories of {spec.name} are known, so nothing can be said of tricks."
        return [Finding(severity=Severity.WARNING, message=text)]
    good = Trajectories.of(best)
    tricks = [probe.trajectories for probe in report.probes if probe.is_hack]
    tricks.sort(key=lambda trick: -trick.mean_return)
    if not tricks:
        return []
    text = _accusation(tricks[0], good)
    if also := ", ".join(trick.name for trick in tricks[1:]):
        text += f" Also by: {also}."
    return [Finding(severity=Severity.WARNING, message=text)]


def _accusation(trick: Trajectories, good: Trajectories) -> str:
    return (
        f"Hackable by: {trick.name}. It is paid {trick.mean_return:,.4g} per episode, good "
        f"trajectories {good.mean_return:,.4g}; their true returns are {trick.true_return:,.4g} "
        f"and {good.true_return:,.4g}."
    )


def _about_order(report: RewardReport, groups: Sequence[Scored]) -> list[Finding]:
    paid = [value for group in groups for value in group.returns]
    if _knows_better(groups) and max(paid) - min(paid) < _SAME:
        text = f"Every trajectory is paid {paid[0]:g}: there is nothing to learn from."
        return [Finding(severity=Severity.WARNING, message=text)]
    agreement = report.rank_agreement
    if agreement is None or agreement >= _LITTLE:
        return []
    how = "against" if agreement < -_LITTLE else "hardly by"
    text = f"It orders episodes {how} their true return ({RANK_METHOD} {agreement:.2f})."
    return [Finding(severity=Severity.WARNING, message=text)]


def _knows_better(groups: Sequence[Scored]) -> bool:
    """Whether there are episodes that a reward should tell apart."""
    return any(group.kind == "good" for group in groups) and len(groups) > 1


def _about_time(report: RewardReport, checked: RewardChecked) -> list[Finding]:
    found = []
    share = report.step_share
    if share is not None and share > _SLOW_SHARE and checked.microseconds > _SLOW_US:
        found.append(f"A call takes {checked.microseconds:,.0f} µs, {share:.0%} of each step.")
    if checked.skipped:
        every = checked.skipped + sum(len(group.returns) for group in checked.groups)
        left = f"{checked.skipped} of {every} recorded episodes were left out"
        found.append(f"{left}: there was no time for them.")
    return [Finding(severity=Severity.WARNING, message=text) for text in found]
