"""Templates and words for the editor."""

import pytest

from app.authoring.rewards.completions import words_of
from app.authoring.rewards.templates.catalogue import templates_for
from app.catalog.environments.catalogue import CATALOGUE
from app.code_check.kinds import CodeKind
from app.code_check.static_check import check

ENVIRONMENTS = list(CATALOGUE)


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_every_template_of_every_environment_is_without_problems(env_id: str) -> None:
    spec = CATALOGUE[env_id]
    templates = templates_for(spec)
    assert templates[0].id == "default"
    assert len({template.id for template in templates}) == len(templates) >= 2
    for template in templates:
        assert check(template.code, CodeKind.REWARD, spec) == [], template.name


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_words_are_names_that_code_may_use(env_id: str) -> None:
    words = words_of(CATALOGUE[env_id])
    assert all(word.name.isidentifier() and word.detail for word in words)
    assert [word.name for word in words[:3]] == ["obs", "action", "next_obs"]


def test_observations_are_offered_by_name_with_their_bounds() -> None:
    words = words_of(CATALOGUE["CartPole-v1"])
    offered = {word.name: word for word in words if word.of == "next_obs"}
    assert list(offered) == [
        "cart_position",
        "cart_velocity",
        "pole_angle",
        "pole_angular_velocity",
    ]
    assert offered["cart_position"].detail == "-4.8 to 4.8"
    assert "next_obs[0]" in offered["cart_position"].about
    action = next(word for word in words if word.name == "action")
    assert (action.detail, "0 push left, 1 push right" in action.about) == ("int, 0 to 1", True)
