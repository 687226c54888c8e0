from dataclasses import replace

from app.catalog.environments.catalogue import CATALOGUE
from app.catalog.environments.filtering import SOLVED, UNSOLVED, EnvironmentFilter, choices
from app.catalog.environments.spec import Difficulty

CARTPOLE = CATALOGUE["CartPole-v1"]


def found(was_solved: tuple[str, ...] = (), **wanted: str) -> set[str]:
    asked = EnvironmentFilter.read(wanted, CATALOGUE.values())
    return {spec.id for spec in CATALOGUE.values() if asked.fits(spec, was_solved)}


def test_nothing_asked_for_is_everything() -> None:
    assert found() == set(CATALOGUE)


def test_all_words_must_fit_and_all_filters() -> None:
    assert found(q="moun CAR", actions="continuous") == {"MountainCarContinuous-v0"}
    assert found(q="no such thing") == set()


def test_what_has_no_threshold_is_neither_solved_nor_unsolved() -> None:
    solved = ("CartPole-v1",)

    assert found(solved, solved=SOLVED) == {"CartPole-v1"}
    assert "Acrobot-v1" in found(solved, solved=UNSOLVED)
    assert not {"CartPole-v1", "Pendulum-v1"} & found(solved, solved=UNSOLVED)


def test_an_address_that_asks_for_what_does_not_exist_asks_for_nothing() -> None:
    assert found(family="spaceships", difficulty="impossible", solved="maybe") == set(CATALOGUE)


def test_a_filter_survives_its_way_through_an_address() -> None:
    asked = EnvironmentFilter(q="moun car", actions="continuous", solved=UNSOLVED)

    assert EnvironmentFilter.read(asked.query, CATALOGUE.values()) == asked


def test_what_all_environments_share_is_no_choice_until_one_differs() -> None:
    assert choices(CATALOGUE.values())["agents"] == ("single",)

    two_players = replace(CARTPOLE, id="TwoPoles-v0", n_agents=2)

    assert choices([CARTPOLE, two_players])["agents"] == ("single", "several")


def test_difficulty_follows_the_budget() -> None:
    assert CARTPOLE.difficulty is Difficulty.EASY
    assert CATALOGUE["LunarLander-v3"].difficulty is Difficulty.MEDIUM
    assert CATALOGUE["ALE/Pong-v5"].difficulty is Difficulty.HARD
