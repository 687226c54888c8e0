import re

import pytest

from app.catalog.algorithms.cards import CARDS
from app.catalog.algorithms.catalogue import CATALOGUE as ALGORITHMS
from app.catalog.environments.catalogue import CATALOGUE as ENVIRONMENTS
from app.catalog.glossary import TERMS, explanation
from app.worker.training.metric_names import _NAMES

_MADE_BY_THE_REPORTER = {
    *("mean_reward", "reward", "mean_length", "episode_length", "fps", "eval_reward", "entropy"),
    *("shaped_reward", "terms/upright"),
    *("grad_norm", "grad_norm/policy", "dead_units", "value_mean", "action_share/0", "learn_s"),
}


@pytest.mark.parametrize("name", sorted(set(_NAMES.values()) | _MADE_BY_THE_REPORTER))
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "ALE/Pong-v5"])
def test_every_metric_is_explained_in_whole_sentences(name: str, env_id: str) -> None:
    text = explanation(name, ENVIRONMENTS[env_id])

    assert re.fullmatch(r"[A-Z0].*\.", text), text


def test_the_explanation_names_the_threshold_of_the_environment() -> None:
    assert "CartPole counts as solved from 475 on." in explanation(
        "mean_reward", ENVIRONMENTS["CartPole-v1"]
    )
    assert "the closer to 0 the better" in explanation("reward", ENVIRONMENTS["Pendulum-v1"])
    assert "no official threshold" in explanation("reward", ENVIRONMENTS["ALE/Pong-v5"])


def test_whether_long_episodes_are_good_depends_on_the_environment() -> None:
    assert "Longer is better" in explanation("mean_length", ENVIRONMENTS["CartPole-v1"])
    assert "Shorter is better" in explanation("mean_length", ENVIRONMENTS["MountainCar-v0"])


def test_an_even_choice_has_the_entropy_that_is_named() -> None:
    assert "near 0.69" in explanation("entropy", ENVIRONMENTS["CartPole-v1"])


def test_every_algorithm_has_a_card_that_names_hyperparameters_of_its_own() -> None:
    assert CARDS.keys() == ALGORITHMS.keys()
    for name, card in CARDS.items():
        known = {parameter.name for parameter in ALGORITHMS[name].hyperparameters}
        assert set(card.first) <= known, name
        named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", card.how))
        assert named <= known | set(TERMS), name
