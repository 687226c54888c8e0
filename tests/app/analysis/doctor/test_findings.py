"""No flicker: when findings appear, stay, go, and how often they are told."""

from dataclasses import replace

import msgspec

from app.analysis.doctor.findings import Findings
from app.analysis.doctor.proposals import applicable_now, describe_change
from app.analysis.insights.insight import Evidence, Insight, Severity

STUCK = Insight(
    code="stuck",
    severity=Severity.WARNING,
    title="No learning to be seen",
    message="The mean reward is where it began.",
    evidence=Evidence(metric="mean_reward", window=(0, 1_000), numbers={"now": 20.0}),
    suggestion="Raise the learning rate.",
    change={"hyperparameters": {"learning_rate": 3e-4}},
    at=1_000,
)
GOOD = replace(STUCK, code="converged", severity=Severity.GOOD, change=None)


def test_a_finding_appears_once_it_was_seen_twice() -> None:
    findings = Findings()

    assert findings.take([STUCK]) == []
    assert findings.shown == []
    assert findings.take([STUCK]) == [STUCK]
    assert findings.shown == [STUCK]


def test_a_finding_that_comes_and_goes_never_appears() -> None:
    findings = Findings()

    for seen in ([STUCK], [], [STUCK], []):
        findings.take(seen)

    assert findings.shown == []


def test_a_finding_stays_until_it_was_missed_three_times() -> None:
    findings = Findings()
    findings.take([STUCK])
    findings.take([STUCK])

    findings.take([])
    findings.take([])
    assert findings.shown == [STUCK]
    findings.take([])
    assert findings.shown == []


def test_a_finding_keeps_the_step_at_which_it_was_found_and_gets_new_numbers() -> None:
    findings = Findings()
    findings.take([STUCK])
    findings.take([STUCK])

    findings.take([replace(STUCK, at=5_000, message="Still there.")])

    assert findings.shown[0].at == 1_000
    assert findings.shown[0].message == "Still there."


def test_what_broke_down_appears_at_once() -> None:
    broken = replace(STUCK, severity=Severity.ERROR)

    assert Findings().take([broken]) == [broken]


def test_a_finding_is_told_once_also_after_a_restart() -> None:
    findings = Findings()
    findings.take([STUCK], is_final=True)

    kept = msgspec.json.decode(msgspec.json.encode(findings.to_keep()))
    again = Findings(kept)

    assert again.shown == [STUCK]
    assert again.take([STUCK], is_final=True) == []


def test_a_run_that_went_back_forgets_what_was_found_later_and_is_told_it_again() -> None:
    findings = Findings()
    findings.take([STUCK, replace(GOOD, at=400)], is_final=True)

    assert not findings.forget_after(1_000)
    assert findings.forget_after(999)

    assert findings.shown == []
    assert findings.take([STUCK], is_final=True) == [STUCK]


def test_a_run_that_went_back_keeps_what_was_found_before() -> None:
    early = replace(GOOD, at=400, evidence=replace(GOOD.evidence, window=(0, 400)))
    findings = Findings()
    findings.take([STUCK, early], is_final=True)

    findings.forget_after(500)

    assert findings.shown == [early]
    assert findings.take([early], is_final=True) == []


def test_a_remark_that_becomes_a_warning_is_told_again() -> None:
    findings = Findings()
    remark = replace(STUCK, severity=Severity.INFO)
    findings.take([remark], is_final=True)

    assert findings.take([STUCK], is_final=True) == [STUCK]


def test_at_the_end_only_what_holds_then_is_shown() -> None:
    findings = Findings()
    findings.take([STUCK])
    findings.take([STUCK])

    findings.take([GOOD], is_final=True)

    assert findings.shown == [GOOD]


def test_only_what_a_run_can_be_given_while_it_trains_is_applied_now() -> None:
    rate = {"hyperparameters": {"learning_rate": 1e-4}}

    assert applicable_now(rate) == {"learning_rate": 1e-4}
    assert applicable_now({"hyperparameters": {"learning_rate": 1e-4, "gamma": 0.9}}) is None
    assert applicable_now({**rate, "n_envs": 8}) is None
    assert applicable_now(None) is None


def test_a_change_is_described_by_what_becomes_another() -> None:
    config = {"n_envs": 1, "hyperparameters": {"learning_rate": 0.3, "gamma": 0.99}}
    change = {"n_envs": 8, "hyperparameters": {"learning_rate": 3e-4, "gamma": 0.99}}

    rows = describe_change(config, change)

    assert rows == [("n_envs", "1", "8"), ("learning_rate", "0.3", "0.0003")]
