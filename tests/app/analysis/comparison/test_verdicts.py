from app.analysis.comparison.conclusions import Scores, Verdict, judge


def scores(name: str, *values: float, returns: tuple[float, ...] = ()) -> Scores:
    return Scores(key=name.lower(), name=name, values=values, returns=returns)


def verdict(ours: Scores, theirs: Scores) -> Verdict:
    (found,) = judge(ours, [theirs], 10_000)
    return found


def test_seeds_that_never_overlap_can_be_told_from_four_on() -> None:
    found = verdict(scores("A", 90, 92, 95, 97, 99), scores("B", 10, 12, 15, 17, 19))

    assert found.is_told
    assert found.more_seeds is None
    assert found.sentence.startswith("A beats B with a probability of 100% (100% to 100%); ")
    assert "the effect is large (g = " in found.sentence


def test_the_better_one_is_named_first_whichever_is_the_reference() -> None:
    found = verdict(scores("A", 10, 12, 15, 17, 40), scores("B", 90, 92, 95, 97, 39))

    assert found.probability == 1 / 25 or found.probability < 0.1
    assert found.sentence.startswith("B beats A with a probability of 96%")


def test_three_seeds_each_are_never_enough_and_it_says_how_many_would_do() -> None:
    found = verdict(scores("A", 90, 92, 95), scores("B", 10, 12, 15))

    assert not found.is_told
    assert found.more_seeds == 3
    assert found.sentence.startswith("Not enough seeds to tell. So far A is ahead of B in ")
    assert found.sentence.endswith("About 6 seeds each would do: 3 more than the 3 now.")


def test_what_is_too_close_gets_no_number_of_seeds() -> None:
    found = verdict(scores("A", 1, 2, 3, 4, 5, 6), scores("B", 1, 2, 3, 4, 5, 6))

    assert found.probability == 0.5
    assert not found.is_told
    assert found.sentence.endswith("so close that 100 seeds each would hardly do.")


def test_one_seed_each_says_nothing_about_settings_but_something_about_the_agents() -> None:
    found = verdict(
        scores("A", 90, returns=(90, 91, 92, 93)), scores("B", 10, returns=(10, 11, 12, 93))
    )

    assert found.ci95 is None
    assert found.effect is None
    assert "One seed each says nothing" in found.sentence
    assert found.agents is not None
    assert "an episode of A beats one of B with a probability of 78%" in found.agents
    assert "by 4 and 4 episodes" in found.agents


def test_what_was_not_measured_yet_is_said() -> None:
    found = verdict(scores("A"), scores("B", 1, 2))

    assert found.probability is None
    assert found.sentence == "A and B have no step in common yet at which both were measured."


def test_more_pairs_need_clearer_differences() -> None:
    """Holm's rule: p = 0.029 of four seeds each is enough for one pair and not for two."""
    high, low = scores("A", 90, 92, 95, 97), scores("B", 10, 12, 15, 17)
    even = scores("C", 91, 93, 94, 96)

    assert [one.is_told for one in judge(high, [low], None)] == [True]
    assert [one.is_told for one in judge(high, [low, even], None)] == [False, False]
