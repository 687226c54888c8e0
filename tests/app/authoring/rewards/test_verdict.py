"""When a reward is called hackable, and when it isn't."""

import pytest

from app.authoring.rewards.ranking import judge, kendall
from app.authoring.rewards.report import RewardReport
from app.catalog.environments.catalogue import CATALOGUE
from app.protocol.messages import RewardChecked, Scored, Term

CARTPOLE = CATALOGUE["CartPole-v1"]
TERM = Term(name="a", mean=1, std=0, min=1, max=1, share=1, outliers=0, histogram=(1,) * 12)

Returns = tuple[float, ...]


def group(
    kind: str, paid: Returns, true: Returns, name: str | None = None, later: Returns | None = None
) -> Scored:
    return Scored(
        name=name or kind,
        kind=kind,  # type: ignore[arg-type]
        origin="a test",
        returns=paid,
        discounted=paid if later is None else later,
        own_returns=true,
        lengths=(10,) * len(paid),
    )


def judged(*groups: Scored, skipped: int = 0) -> RewardReport:
    checked = RewardChecked(
        terms=(TERM,),
        groups=groups,
        microseconds=1.0,
        step_microseconds=9.0,
        steps=10,
        skipped=skipped,
    )
    return judge([], checked, CARTPOLE)


RANDOM = group("random", (20.0, 22.0), (20.0, 22.0))
GOOD = group("good", (500.0, 480.0), (500.0, 480.0))


def texts(report: RewardReport) -> str:
    return " ".join(finding.message for finding in report.findings)


def test_the_true_reward_is_never_accused() -> None:
    trick = group("probe", (499.0, 499.0), (499.0, 499.0), "action 0 forever")
    report = judged(RANDOM, GOOD, trick)
    assert (report.hackable_by, report.findings) == ([], [])
    assert report.rank_agreement == 1.0


def test_a_trick_that_pays_more_but_is_worth_less_is_named_with_its_numbers() -> None:
    trick = group("probe", (900.0, 700.0), (10.0, 10.0), "action 0 forever")
    report = judged(RANDOM, GOOD, trick)
    assert report.hackable_by == ["action 0 forever"]
    assert "Hackable by: action 0 forever. It is paid 800 per episode" in texts(report)
    assert "good trajectories 490; their true returns are 10 and 490." in texts(report)


def test_a_trick_that_is_really_good_is_no_trick() -> None:
    trick = group("probe", (900.0,), (400.0,), "lever 3 forever")
    assert judged(RANDOM, GOOD, trick).hackable_by == []


def test_a_tie_is_no_accusation() -> None:
    trick = group("probe", (495.0,), (10.0,), "action 0 forever")
    assert judged(RANDOM, GOOD, trick).hackable_by == []


def test_acting_worse_for_more_is_found_too() -> None:
    worse = group("medium", (600.0,), (100.0,), "medium trajectories")
    assert judged(RANDOM, GOOD, worse).hackable_by == ["medium trajectories"]


def test_without_good_trajectories_nothing_is_said_of_tricks() -> None:
    report = judged(RANDOM, group("probe", (900.0,), (0.0,), "action 0 forever"))
    assert report.hackable_by == []
    assert "No good trajectories of CartPole are known" in texts(report)


def test_good_trajectories_that_are_no_better_than_random_judge_nobody() -> None:
    same = group("good", (20.0, 22.0), (20.0, 22.0))
    assert judged(RANDOM, same, group("probe", (90.0,), (0.0,), "x")).hackable_by == []


def test_a_reward_that_pays_the_same_for_everything_teaches_nothing() -> None:
    flat = (group("random", (0.0, 0.0), (1.0, 2.0)), group("good", (0.0, 0.0), (9.0, 8.0)))
    report = judged(*flat)
    assert report.rank_agreement is None
    assert "nothing to learn from" in texts(report)


def test_a_reward_that_orders_against_the_truth_is_named() -> None:
    turned = (group("random", (9.0, 8.0), (1.0, 2.0)), group("good", (-9.0, -8.0), (9.0, 8.0)))
    report = judged(*turned)
    assert report.rank_agreement == -1.0
    assert "against their true return (Kendall's tau-b -1.00)" in texts(report)


def test_who_is_paid_more_only_in_the_long_run_is_not_accused() -> None:
    trick = group("probe", (900.0,), (10.0,), "doing nothing", later=(1.0,))
    assert judged(RANDOM, GOOD, trick).hackable_by == []


def test_what_was_left_out_for_lack_of_time_is_said() -> None:
    assert "3 of 7 recorded episodes were left out" in texts(judged(RANDOM, GOOD, skipped=3))


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
