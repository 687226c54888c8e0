"""Check a reward on recorded episodes: whether it ranks them correctly or can be exploited."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

from app.authoring.rewards.report import RANK_METHOD, Finding, Probe, RewardReport, Trajectories
from app.catalog.environments import EnvSpec
from app.code_check import Problem, Severity
from app.protocol import RewardChecked, Scored

_HACK_BELOW = 0.5
"""A probe whose true return covers this share of the gap from random to good is no hack."""
_MIN_DIFFERENCE = 0.02
"""The relative difference from which on a return counts as larger."""
_LOW_AGREEMENT = 0.2
"""Below this rank agreement a reward hardly orders episodes by their true return."""
_SLOW_SHARE = 0.5
_SLOW_US = 20.0
"""Shorter calls are never reported, however fast the environment is."""
_TOLERANCE = 1e-9


def make_report(problems: Sequence[Problem], checked: RewardChecked, spec: EnvSpec) -> RewardReport:
    """Return the report about a reward."""
    played = [group for group in checked.groups if group.returns]
    whole = [group for group in played if group.kind != "probe"]
    best = next((g for kind in ("good", "medium") for g in whole if g.kind == kind), None)
    random = next((group for group in whole if group.kind == "random"), None)
    # Worse policies count as probes, too: the reward must not pay them more.
    probes = [
        Probe(trajectories=Trajectories.of(group), is_hack=_is_hack(group, best, random))
        for group in played
        if group is not best
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
    has_good = any(group.kind == "good" for group in checked.groups)
    findings = _hack_findings(report, best, spec) if best or not has_good else []
    findings += _order_findings(report, whole)
    return replace(report, findings=[*findings, *_time_findings(report, checked)])


def kendall(ones: Sequence[float], others: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two series; None if one is constant."""
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
    return 0 if abs(difference) < _TOLERANCE else 1 if difference > 0 else -1


def _rank_agreement(groups: Sequence[Scored]) -> float | None:
    paid = [value for group in groups for value in group.returns]
    true = [value for group in groups for value in group.own_returns]
    return kendall(paid, true)


def _is_hack(group: Scored, best: Scored | None, random: Scored | None) -> bool:
    """Whether a probe is paid more than a good policy although its true return is much lower.

    This never holds for the environment's own reward, which is the true return.
    """
    if best is None or random is None:
        return False
    probe, good, baseline = (Trajectories.of(one) for one in (group, best, random))
    gap = good.true_return - baseline.true_return
    if gap <= _MIN_DIFFERENCE * abs(good.true_return):
        # The good policy is no better than random: no probe can be called worse.
        return False
    is_worse = probe.true_return < baseline.true_return + _HACK_BELOW * gap
    # Both: by the plain sum alone, harmless potential-based shaping would seem to pay idling.
    return (
        is_worse
        and _is_clearly_more(probe.mean_return, good.mean_return)
        and _is_clearly_more(probe.discounted_return, good.discounted_return)
    )


def _is_clearly_more(one: float, other: float) -> bool:
    return one > other + _MIN_DIFFERENCE * max(abs(one), abs(other))


def _hack_findings(report: RewardReport, best: Scored | None, spec: EnvSpec) -> list[Finding]:
    if best is None:
        text = f"No good trajectories of {spec.name} are known, so exploits can't be checked."
        return [Finding(severity=Severity.WARNING, message=text)]
    good = Trajectories.of(best)
    hacks = [probe.trajectories for probe in report.probes if probe.is_hack]
    hacks.sort(key=lambda hack: -hack.mean_return)
    if not hacks:
        return []
    text = _hack_text(hacks[0], good)
    if also := ", ".join(hack.name for hack in hacks[1:]):
        text += f" Also by: {also}."
    return [Finding(severity=Severity.WARNING, message=text)]


def _hack_text(hack: Trajectories, good: Trajectories) -> str:
    return (
        f"Hackable by: {hack.name}. It earns {hack.mean_return:,.4g} per episode, good "
        f"trajectories {good.mean_return:,.4g}; their true returns are {hack.true_return:,.4g} "
        f"and {good.true_return:,.4g}."
    )


def _order_findings(report: RewardReport, groups: Sequence[Scored]) -> list[Finding]:
    paid = [value for group in groups for value in group.returns]
    if _has_good(groups) and max(paid) - min(paid) < _TOLERANCE:
        text = f"Every trajectory earns {paid[0]:g}: there is nothing to learn."
        return [Finding(severity=Severity.WARNING, message=text)]
    agreement = report.rank_agreement
    if agreement is None or agreement >= _LOW_AGREEMENT:
        return []
    how = "against" if agreement < -_LOW_AGREEMENT else "hardly by"
    text = f"It orders episodes {how} their true return ({RANK_METHOD} {agreement:.2f})."
    return [Finding(severity=Severity.WARNING, message=text)]


def _has_good(groups: Sequence[Scored]) -> bool:
    """Whether there are both good and worse episodes."""
    return any(group.kind == "good" for group in groups) and len(groups) > 1


def _time_findings(report: RewardReport, checked: RewardChecked) -> list[Finding]:
    found = []
    share = report.step_share
    if share is not None and share > _SLOW_SHARE and checked.microseconds > _SLOW_US:
        found.append(f"A call takes {checked.microseconds:,.0f} µs, {share:.0%} of each step.")
    if checked.skipped:
        every = checked.skipped + sum(len(group.returns) for group in checked.groups)
        left = f"{checked.skipped} of {every} recorded episodes were left out"
        found.append(f"{left}: there was no time for them.")
    return [Finding(severity=Severity.WARNING, message=text) for text in found]
