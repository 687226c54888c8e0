import pytest

from app.catalog.environments.catalogue import ENVIRONMENTS
from app.catalog.environments.reference_scores import reference_score, reference_scores


@pytest.mark.parametrize("env_id", reference_scores())
def test_random_actions_have_0_and_the_reference_1(env_id: str) -> None:
    known = reference_score(env_id)

    assert known is not None
    assert known.random < known.reference
    assert known.normalize(known.random) == 0
    assert known.normalize(known.reference) == 1


@pytest.mark.parametrize("env_id", reference_scores())
def test_the_reference_is_the_threshold_where_there_is_one(env_id: str) -> None:
    known, spec = reference_scores()[env_id], ENVIRONMENTS.get(env_id)
    threshold = None if spec is None else spec.solved_threshold

    assert threshold is None or (known.reference, known.source) == (
        threshold,
        "the solved threshold",
    )


def test_an_environment_without_measured_scores_has_no_reference() -> None:
    assert reference_score("Blackjack-v1") is None
    assert reference_score("Unknown-v0") is None
