"""Reward templates and completions for the editor."""

import pytest

from app.authoring.rewards.completions import words_of
from app.authoring.rewards.templates.catalogue import templates_for
from app.catalog.environments.catalogue import ENVIRONMENTS
from app.code_check.kinds import CodeKind
from app.code_check.static_check import check


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
async def test_every_template_of_every_environment_has_no_problems(env_id: str) -> None:
    spec = ENVIRONMENTS[env_id]
    templates = templates_for(spec)
    assert templates[0].id == "default"
    assert len({template.id for template in templates}) == len(templates) >= 2
    for template in templates:
        assert await check(template.code, CodeKind.REWARD, spec) == [], template.name


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_completions_are_valid_names(env_id: str) -> None:
    words = words_of(ENVIRONMENTS[env_id])
    assert all(word.name.isidentifier() and word.detail for word in words)
    assert [word.name for word in words[:3]] == ["obs", "action", "next_obs"]


def test_observations_are_completed_by_name_with_their_bounds() -> None:
    words = words_of(ENVIRONMENTS["CartPole-v1"])
    completions = {word.name: word for word in words if word.of == "next_obs"}
    assert list(completions) == [
        "cart_position",
        "cart_velocity",
        "pole_angle",
        "pole_angular_velocity",
    ]
    assert completions["cart_position"].detail == "-4.8 to 4.8"
    assert "next_obs[0]" in completions["cart_position"].about
    action = next(word for word in words if word.name == "action")
    assert (action.detail, "0 push left, 1 push right" in action.about) == ("int, 0 to 1", True)
