from dataclasses import replace

from app.catalog.environments.catalogue import ENVIRONMENTS
from app.catalog.environments.filtering import SOLVED, UNSOLVED, EnvironmentFilter, filter_choices
from app.catalog.environments.spec import Difficulty

CARTPOLE = ENVIRONMENTS["CartPole-v1"]


def matching(was_solved: tuple[str, ...] = (), **query: str) -> set[str]:
    wanted = EnvironmentFilter.read(query, ENVIRONMENTS.values())
    return {spec.id for spec in ENVIRONMENTS.values() if wanted.fits(spec, was_solved)}


def test_an_empty_filter_matches_every_environment() -> None:
    assert matching() == set(ENVIRONMENTS)


def test_all_words_and_all_filters_must_match() -> None:
    assert matching(q="moun CAR", actions="continuous") == {"MountainCarContinuous-v0"}
    assert matching(q="no such thing") == set()


def test_an_environment_without_a_threshold_is_neither_solved_nor_unsolved() -> None:
    solved = ("CartPole-v1",)

    assert matching(solved, solved=SOLVED) == {"CartPole-v1"}
    assert "Acrobot-v1" in matching(solved, solved=UNSOLVED)
    assert not {"CartPole-v1", "Pendulum-v1"} & matching(solved, solved=UNSOLVED)


def test_unknown_values_in_a_url_are_ignored() -> None:
    assert matching(family="spaceships", difficulty="impossible", solved="maybe") == set(
        ENVIRONMENTS
    )


def test_a_filter_survives_a_round_trip_through_a_url() -> None:
    wanted = EnvironmentFilter(q="moun car", actions="continuous", solved=UNSOLVED)

    assert EnvironmentFilter.read(wanted.query, ENVIRONMENTS.values()) == wanted


def test_a_filter_has_one_choice_while_all_environments_agree() -> None:
    assert filter_choices(ENVIRONMENTS.values())["agents"] == ("single",)

    two_players = replace(CARTPOLE, id="TwoPoles-v0", n_agents=2)

    assert filter_choices([CARTPOLE, two_players])["agents"] == ("single", "several")


def test_difficulty_follows_the_budget() -> None:
    assert CARTPOLE.difficulty is Difficulty.EASY
    assert ENVIRONMENTS["LunarLander-v3"].difficulty is Difficulty.MEDIUM
    assert ENVIRONMENTS["ALE/Pong-v5"].difficulty is Difficulty.HARD
