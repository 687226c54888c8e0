"""When a reward is reported as hackable, and when not."""

import pytest

from app.authoring.rewards.ranking import kendall, make_report
from app.authoring.rewards.report import RewardReport
from app.catalog.environments.catalogue import ENVIRONMENTS
from app.protocol.messages import RewardChecked, Scored, Term

CARTPOLE = ENVIRONMENTS["CartPole-v1"]
TERM = Term(name="a", mean=1, std=0, min=1, max=1, share=1, outliers=0, histogram=(1,) * 12)

Returns = tuple[float, ...]


def group(
    kind: str,
    rewards: Returns,
    true: Returns,
    name: str | None = None,
    discounted: Returns | None = None,
) -> Scored:
    return Scored(
        name=name or kind,
        kind=kind,  # type: ignore[arg-type]
        origin="a test",
        returns=rewards,
        discounted=rewards if discounted is None else discounted,
        own_returns=true,
        lengths=(10,) * len(rewards),
    )


def report_of(*groups: Scored, skipped: int = 0) -> RewardReport:
    checked = RewardChecked(
        terms=(TERM,),
        groups=groups,
        microseconds=1.0,
        step_microseconds=9.0,
        steps=10,
        skipped=skipped,
    )
    return make_report([], checked, CARTPOLE)


RANDOM = group("random", (20.0, 22.0), (20.0, 22.0))
GOOD = group("good", (500.0, 480.0), (500.0, 480.0))


def texts(report: RewardReport) -> str:
    return " ".join(finding.message for finding in report.findings)


def test_the_true_reward_is_never_called_hackable() -> None:
    probe = group("probe", (499.0, 499.0), (499.0, 499.0), "action 0 forever")
    report = report_of(RANDOM, GOOD, probe)
    assert (report.hackable_by, report.findings) == ([], [])
    assert report.rank_agreement == 1.0


def test_a_probe_with_a_higher_reward_but_a_lower_true_return_is_named_with_its_numbers() -> None:
    probe = group("probe", (900.0, 700.0), (10.0, 10.0), "action 0 forever")
    report = report_of(RANDOM, GOOD, probe)
    assert report.hackable_by == ["action 0 forever"]
    assert "Hackable by: action 0 forever. It earns 800 per episode" in texts(report)
    assert "good trajectories 490; their true returns are 10 and 490." in texts(report)


def test_a_probe_with_a_good_true_return_is_not_named() -> None:
    probe = group("probe", (900.0,), (400.0,), "lever 3 forever")
    assert report_of(RANDOM, GOOD, probe).hackable_by == []


def test_a_probe_with_about_the_same_reward_is_not_named() -> None:
    probe = group("probe", (495.0,), (10.0,), "action 0 forever")
    assert report_of(RANDOM, GOOD, probe).hackable_by == []


def test_medium_trajectories_with_a_higher_reward_are_named_too() -> None:
    worse = group("medium", (600.0,), (100.0,), "medium trajectories")
    assert report_of(RANDOM, GOOD, worse).hackable_by == ["medium trajectories"]


def test_without_good_trajectories_no_probe_is_named() -> None:
    report = report_of(RANDOM, group("probe", (900.0,), (0.0,), "action 0 forever"))
    assert report.hackable_by == []
    assert "No good trajectories of CartPole are known" in texts(report)


def test_good_trajectories_that_are_no_better_than_random_name_no_probe() -> None:
    same = group("good", (20.0, 22.0), (20.0, 22.0))
    assert report_of(RANDOM, same, group("probe", (90.0,), (0.0,), "x")).hackable_by == []


def test_a_constant_reward_is_reported_as_nothing_to_learn() -> None:
    constant = (group("random", (0.0, 0.0), (1.0, 2.0)), group("good", (0.0, 0.0), (9.0, 8.0)))
    report = report_of(*constant)
    assert report.rank_agreement is None
    assert "nothing to learn" in texts(report)


def test_a_reward_that_contradicts_the_true_return_is_reported() -> None:
    reversed_order = (
        group("random", (9.0, 8.0), (1.0, 2.0)),
        group("good", (-9.0, -8.0), (9.0, 8.0)),
    )
    report = report_of(*reversed_order)
    assert report.rank_agreement == -1.0
    assert "against their true return (Kendall's tau-b -1.00)" in texts(report)


def test_a_probe_with_a_lower_discounted_return_is_not_named() -> None:
    probe = group("probe", (900.0,), (10.0,), "doing nothing", discounted=(1.0,))
    assert report_of(RANDOM, GOOD, probe).hackable_by == []


def test_episodes_left_out_for_lack_of_time_are_reported() -> None:
    assert "3 of 7 recorded episodes were left out" in texts(report_of(RANDOM, GOOD, skipped=3))


@pytest.mark.parametrize(
    ("ones", "others", "tau"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [30, 20, 10], -1.0),
        ([1, 1, 2, 2], [1, 2, 3, 4], 0.8164965809),
        ([1, 1, 1], [1, 2, 3], None),
        ([], [], None),
    ],
)
def test_rank_agreement_is_tau_b(ones: list[float], others: list[float], tau: float | None) -> None:
    assert kendall(ones, others) == (None if tau is None else pytest.approx(tau))
