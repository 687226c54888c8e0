from typing import Any

import pytest

from app.analysis.comparison.conclusions import Conclusion, Scores, conclude


def scores(name: str, *values: float, **more: tuple[Any, ...]) -> Scores:
    return Scores(key=name.lower(), name=name, values=values, **more)


def conclusion(ours: Scores, theirs: Scores) -> Conclusion:
    (conclusion,) = conclude(ours, [theirs], 10_000)
    return conclusion


def test_five_seeds_without_overlap_are_significant() -> None:
    result = conclusion(scores("A", 90, 92, 95, 97, 99), scores("B", 10, 12, 15, 17, 19))

    assert result.is_told
    assert result.more_seeds is None
    # All pairs agree, as they do by chance, too: not "100% (100% to 100%)".
    start = "A beats B with a probability of at least 64% (all pairs agree); "
    assert result.sentence.startswith(start)
    assert result.ci95 == pytest.approx((0.643, 1.0), abs=0.001)
    assert "the effect is large (g = " in result.sentence


def test_the_better_entry_is_named_first_whichever_is_the_reference() -> None:
    result = conclusion(scores("A", 10, 12, 15, 17, 40), scores("B", 90, 92, 95, 97, 39))

    assert result.probability == 1 / 25 or result.probability < 0.1
    assert result.sentence.startswith("B beats A with a probability of 96% (")
    assert result.ci95 is not None
    assert result.ci95[0] < 1 / 25 < result.ci95[1]


def test_three_seeds_each_are_never_enough_and_the_number_needed_is_given() -> None:
    result = conclusion(scores("A", 90, 92, 95), scores("B", 10, 12, 15))

    assert not result.is_told
    assert result.more_seeds == 3
    assert result.sentence.startswith("Not enough seeds to tell. So far A is ahead of B in ")
    assert result.sentence.endswith("About 6 seeds each would suffice: 3 more than the 3 now.")


def test_scores_that_are_too_close_get_no_number_of_seeds() -> None:
    result = conclusion(scores("A", 1, 2, 3, 4, 5, 6), scores("B", 1, 2, 3, 4, 5, 6))

    assert result.probability == 0.5
    assert not result.is_told
    assert result.sentence.endswith("so close that 100 seeds each would hardly suffice.")


def test_one_seed_each_compares_the_agents_but_not_the_settings() -> None:
    result = conclusion(
        scores("A", 90, returns=(90, 91, 92, 93)), scores("B", 10, returns=(10, 11, 12, 93))
    )

    assert result.ci95 is None
    assert result.effect is None
    assert "One seed each says nothing" in result.sentence
    assert result.agents is not None
    assert "an episode of A beats one of B with a probability of 78% (" in result.agents
    assert "by 4 and 4 episodes" in result.agents


def test_few_episodes_that_all_agree_are_no_certainty() -> None:
    few = conclusion(scores("A", 90, returns=(90, 91)), scores("B", 10, returns=(10, 11)))
    more = conclusion(scores("A", 1, returns=(1, 2, 3, 4)), scores("B", 9, returns=(6, 7, 8, 9)))

    assert few.agents is not None
    assert "a probability of 100% in the few that were compared" in few.agents
    assert more.agents is not None
    assert "a probability of at most 42% (all pairs agree)" in more.agents


def test_nothing_is_concluded_about_different_tasks() -> None:
    theirs = scores("B", 10, 12, 15, 17, 19, task_differences=("time_limit none and 100",))

    result = conclusion(scores("A", 90, 92, 95, 97, 99, returns=(1, 2)), theirs)

    assert not result.is_told
    assert result.chance is None
    assert result.more_seeds is None
    assert result.agents is None
    assert result.task_differences == ("time_limit none and 100",)
    assert result.sentence.startswith(
        "The tasks of A and B differ (time_limit none and 100), so nothing is concluded. The "
        "scores of A are higher than those of B in 100% of all pairs"
    )


def test_a_missing_measurement_is_stated() -> None:
    result = conclusion(scores("A"), scores("B", 1, 2))

    assert result.probability is None
    assert result.sentence == "A and B have no common step yet at which both were measured."


def test_more_pairs_need_clearer_differences() -> None:
    """Holm's rule: p = 0.029 of four seeds each is enough for one pair and not for two."""
    high, low = scores("A", 90, 92, 95, 97), scores("B", 10, 12, 15, 17)
    even = scores("C", 91, 93, 94, 96)

    assert [one.is_told for one in conclude(high, [low], None)] == [True]
    assert [one.is_told for one in conclude(high, [low, even], None)] == [False, False]
