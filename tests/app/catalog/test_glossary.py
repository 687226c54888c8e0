import re

import pytest

from app.catalog.algorithms.catalogue import ALGORITHMS
from app.catalog.algorithms.spec import Family
from app.catalog.environments.catalogue import ENVIRONMENTS
from app.catalog.glossary import GLOSSARY, explanation
from app.worker.training.metric_names import _NAMES

_ADDED_BY_THE_REPORTER = {
    *("mean_reward", "reward", "mean_length", "episode_length", "fps", "eval_reward", "entropy"),
    *("success_rate", "eval_success_rate"),
    *("shaped_reward", "terms/upright"),
    *(
        "max_entropy",
        "grad_norm",
        "grad_norm/policy",
        "dead_units",
        "value_mean",
        "action_share/0",
        "learn_s",
    ),
}


@pytest.mark.parametrize("name", sorted(set(_NAMES.values()) | _ADDED_BY_THE_REPORTER))
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


def test_rewards_of_a_random_search_are_explained_as_those_of_perturbed_policies() -> None:
    assert "perturbed copies of the policy" in explanation("mean_reward", family=Family.SEARCH)
    assert "perturbed" not in explanation("mean_reward", family=Family.ROLLOUT)
    assert "perturbed" not in explanation("loss", family=Family.SEARCH)


def test_the_entropy_of_a_uniform_choice_is_named() -> None:
    assert "near 0.69" in explanation("entropy", ENVIRONMENTS["CartPole-v1"])


def test_the_card_of_every_algorithm_names_only_its_own_hyperparameters() -> None:
    for name, spec in ALGORITHMS.items():
        known = {parameter.name for parameter in spec.hyperparameters}
        assert set(spec.card.first) <= known, name
        named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", spec.card.how))
        assert named <= known | set(GLOSSARY), name
