"""A run is solved only if evaluations in a row say so and other episodes confirm it."""

import numpy as np
import pytest

from app.runs.execution.solved_detector import CONFIRMATION_EPISODES, IN_A_ROW, SolvedDetector

_THRESHOLD = 200.0
_EVALUATIONS, _EPISODES = 20, 20
_RUNS = 2_000


def detect(draw: np.random.Generator, mean: float) -> bool:
    """Return whether a run is called solved whose policies all have the same true mean."""
    detector = SolvedDetector(_THRESHOLD)
    for _ in range(_EVALUATIONS):
        if detector.proposes(returns(draw, mean, _EPISODES).mean()):
            detector.confirm(returns(draw, mean, CONFIRMATION_EPISODES).mean())
    return detector.is_solved


def returns(draw: np.random.Generator, mean: float, count: int) -> np.ndarray:
    """Return the returns of a lander that crashes in 30 % of the episodes."""
    has_crashed = draw.random(count) < 0.3
    landed = mean + 0.3 * 270
    return np.where(has_crashed, landed - 270, landed) + draw.normal(0, 20, count)


def test_a_policy_below_the_threshold_is_rarely_called_solved() -> None:
    draw = np.random.default_rng(1)

    assert sum(detect(draw, 185.0) for _ in range(_RUNS)) / _RUNS < 0.05


def test_a_policy_clearly_above_the_threshold_is_called_solved() -> None:
    draw = np.random.default_rng(2)

    assert sum(detect(draw, 250.0) for _ in range(_RUNS)) / _RUNS > 0.99


def test_the_evaluations_must_be_consecutive() -> None:
    detector = SolvedDetector(_THRESHOLD)

    proposals = [detector.proposes(score) for score in (210, 210, 190, 210, 210, 210)]

    assert proposals == [False] * 5 + [True]


def test_after_a_failed_confirmation_twice_as_many_evaluations_are_needed() -> None:
    detector = SolvedDetector(_THRESHOLD)
    assert [detector.proposes(210) for _ in range(IN_A_ROW)][-1]
    assert not detector.confirm(199.9)

    again = [detector.proposes(210) for _ in range(2 * IN_A_ROW)]

    assert again == [False] * (2 * IN_A_ROW - 1) + [True]
    assert detector.confirm(200.0)
    assert not detector.proposes(500)


def test_a_resumed_run_still_needs_as_many_evaluations() -> None:
    detector = SolvedDetector(_THRESHOLD, failed_confirmations=1)

    proposals = [detector.proposes(210) for _ in range(2 * IN_A_ROW)]

    assert proposals == [False] * (2 * IN_A_ROW - 1) + [True]


@pytest.mark.parametrize("score", [0.0, 1e9])
def test_nothing_is_solved_without_a_threshold(score: float) -> None:
    detector = SolvedDetector(None)

    assert not any(detector.proposes(score) for _ in range(10))
