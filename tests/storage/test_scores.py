"""The score of a run: which measurement counts, and of which kind it is."""

import pytest

from storage.records import Progress, ScoreKind, score_of

_ALL = {
    "timesteps": 500,
    "best_evaluation": 90.0,
    "last_evaluation": 70.0,
    "final_evaluation": 60.0,
    "final_evaluation_at": 500,
}


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        ((), (60.0, ScoreKind.FINAL_EVALUATION)),
        (("final_evaluation",), (70.0, ScoreKind.LAST_EVALUATION)),
        (("final_evaluation", "last_evaluation"), (90.0, ScoreKind.BEST_EVALUATION)),
        (
            ("final_evaluation", "last_evaluation", "best_evaluation"),
            (50.0, ScoreKind.TRAINING_MEAN),
        ),
    ],
)
def test_the_best_kind_of_measurement_counts_not_the_highest_one(
    without: tuple[str, ...], expected: tuple[float, ScoreKind]
) -> None:
    progress = Progress(**{name: value for name, value in _ALL.items() if name not in without})

    assert score_of(progress, {"mean_reward": 50.0}) == expected


def test_a_final_evaluation_of_an_earlier_policy_does_not_count() -> None:
    assert score_of(Progress(**_ALL | {"timesteps": 900}), None)[1] is ScoreKind.LAST_EVALUATION


def test_a_run_without_measurements_has_no_score() -> None:
    assert score_of(Progress(), None) == (None, None)
    assert score_of(Progress(), {"mean_reward": None}) == (None, None)
