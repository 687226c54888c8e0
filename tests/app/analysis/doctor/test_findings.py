"""Findings don't flicker: when they appear, stay and disappear, and how often they are reported."""

from dataclasses import replace

import msgspec

from app.analysis.doctor.findings import Findings
from app.analysis.doctor.proposals import applicable_now, describe_change
from app.analysis.insights.insight import Evidence, Insight, Severity
from app.run_config.config import RunConfig
from tests.stored_configs import stored_config

STUCK = Insight(
    code="stuck",
    severity=Severity.WARNING,
    title="No learning progress",
    message="The mean reward is where it began.",
    evidence=Evidence(metric="mean_reward", window=(0, 1_000), numbers={"now": 20.0}),
    suggestion="Raise the learning rate.",
    change={"hyperparameters": {"learning_rate": 3e-4}},
    at=1_000,
)
GOOD = replace(STUCK, code="converged", severity=Severity.GOOD, change=None)


def test_a_finding_appears_after_it_was_detected_twice() -> None:
    findings = Findings()

    assert findings.update([STUCK]) == []
    assert findings.shown == []
    assert findings.update([STUCK]) == [STUCK]
    assert findings.shown == [STUCK]


def test_an_intermittent_finding_never_appears() -> None:
    findings = Findings()

    for detected in ([STUCK], [], [STUCK], []):
        findings.update(detected)

    assert findings.shown == []


def test_a_finding_stays_until_it_was_absent_three_times() -> None:
    findings = Findings()
    findings.update([STUCK])
    findings.update([STUCK])

    findings.update([])
    findings.update([])
    assert findings.shown == [STUCK]
    findings.update([])
    assert findings.shown == []


def test_a_finding_keeps_the_step_of_its_detection_and_gets_new_numbers() -> None:
    findings = Findings()
    findings.update([STUCK])
    findings.update([STUCK])

    findings.update([replace(STUCK, at=5_000, message="Still there.")])

    assert findings.shown[0].at == 1_000
    assert findings.shown[0].message == "Still there."


def test_an_error_appears_at_once() -> None:
    broken = replace(STUCK, severity=Severity.ERROR)

    assert Findings().update([broken]) == [broken]


def test_a_finding_is_reported_once_even_after_a_restart() -> None:
    findings = Findings()
    findings.update([STUCK], is_final=True)

    stored = msgspec.json.decode(msgspec.json.encode(findings.to_stored()))
    restored = Findings(stored)

    assert restored.shown == [STUCK]
    assert restored.update([STUCK], is_final=True) == []


def test_a_rewound_run_forgets_later_findings_and_reports_them_again() -> None:
    findings = Findings()
    findings.update([STUCK, replace(GOOD, at=400)], is_final=True)

    assert not findings.forget_after(1_000)
    assert findings.forget_after(999)

    assert findings.shown == []
    assert findings.update([STUCK], is_final=True) == [STUCK]


def test_a_rewound_run_keeps_earlier_findings() -> None:
    early = replace(GOOD, at=400, evidence=replace(GOOD.evidence, window=(0, 400)))
    findings = Findings()
    findings.update([STUCK, early], is_final=True)

    findings.forget_after(500)

    assert findings.shown == [early]
    assert findings.update([early], is_final=True) == []


def test_an_info_that_becomes_a_warning_is_reported_again() -> None:
    findings = Findings()
    info = replace(STUCK, severity=Severity.INFO)
    findings.update([info], is_final=True)

    assert findings.update([STUCK], is_final=True) == [STUCK]


def test_at_the_end_only_current_findings_are_shown() -> None:
    findings = Findings()
    findings.update([STUCK])
    findings.update([STUCK])

    findings.update([GOOD], is_final=True)

    assert findings.shown == [GOOD]


def test_only_settings_that_can_change_during_training_are_applied_at_once() -> None:
    rate = {"hyperparameters": {"learning_rate": 1e-4}}

    assert applicable_now(rate) == {"learning_rate": 1e-4}
    assert applicable_now({"hyperparameters": {"learning_rate": 1e-4, "gamma": 0.9}}) is None
    assert applicable_now({**rate, "n_envs": 8}) is None
    assert applicable_now(None) is None


def test_a_change_is_described_by_the_settings_that_differ() -> None:
    hyperparameters = {"learning_rate": 0.3, "gamma": 0.99}
    config = RunConfig.model_validate(stored_config(hyperparameters=hyperparameters))
    change = {"n_envs": 8, "hyperparameters": {"learning_rate": 3e-4, "gamma": 0.99}}

    rows = describe_change(config, change)

    assert rows == [("n_envs", "1", "8"), ("learning_rate", "0.3", "0.0003")]
