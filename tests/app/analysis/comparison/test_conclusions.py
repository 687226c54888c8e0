from app.analysis.comparison.conclusions import Conclusion, Scores, conclude


def scores(name: str, *values: float, returns: tuple[float, ...] = ()) -> Scores:
    return Scores(key=name.lower(), name=name, values=values, returns=returns)


def conclusion(ours: Scores, theirs: Scores) -> Conclusion:
    (conclusion,) = conclude(ours, [theirs], 10_000)
    return conclusion


def test_five_seeds_without_overlap_are_significant() -> None:
    result = conclusion(scores("A", 90, 92, 95, 97, 99), scores("B", 10, 12, 15, 17, 19))

    assert result.is_told
    assert result.more_seeds is None
    assert result.sentence.startswith("A beats B with a probability of 100% (100% to 100%); ")
    assert "the effect is large (g = " in result.sentence


def test_the_better_entry_is_named_first_whichever_is_the_reference() -> None:
    result = conclusion(scores("A", 10, 12, 15, 17, 40), scores("B", 90, 92, 95, 97, 39))

    assert result.probability == 1 / 25 or result.probability < 0.1
    assert result.sentence.startswith("B beats A with a probability of 96%")


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
    assert "an episode of A beats one of B with a probability of 78%" in result.agents
    assert "by 4 and 4 episodes" in result.agents


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
