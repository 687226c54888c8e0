import asyncio

import pytest
from nicegui import ui
from nicegui.testing import User

from app.catalog.environments.catalogue import ENVIRONMENTS

pytestmark = pytest.mark.slow

MISSING = [spec for spec in ENVIRONMENTS.values() if not spec.is_installed]


def number(user: User, name: str) -> str:
    (label,) = user.find(marker=name, kind=ui.label).elements
    return label.text


async def test_the_page_describes_the_environment(user: User) -> None:
    await user.open("/environments/CartPole-v1")

    await user.should_see("Keep a pole upright")
    await user.should_see("discrete, 2 actions")
    await user.should_see("0 push left")
    await user.should_see("cart position, -4.8 to 4.8")
    await user.should_see("cart velocity, unbounded")
    await user.should_see("always 1")
    await user.should_see("500 steps")
    await user.should_see("No demonstrations yet")
    assert number(user, "Solved threshold") == "475.0"
    assert [number(user, name) for name in ("Best played", "Random", "Best trained")] == ["-"] * 3


async def test_an_id_with_a_slash_and_an_outdated_one_open_a_page(user: User) -> None:
    await user.open("/environments/ALE/Pong-v5")
    await user.should_see("ALE/Pong-v5")

    await user.open("/environments/LunarLander-v2")
    await user.should_see("LunarLander-v3")


async def test_an_unknown_id_suggests_a_similar_one(user: User) -> None:
    await user.open("/environments/CartPole-v7")

    await user.should_see("Did you mean CartPole-v1?")
    await user.should_see("Choose an environment")
    await user.should_see("All runs")


async def test_an_unknown_id_does_not_suggest_missing_environments(user: User) -> None:
    await user.open("/environments/nothing-like-anything")

    await user.should_see("Choose one of: ")
    for spec in MISSING:
        await user.should_not_see(f"{spec.id},", retries=1)


@pytest.mark.skipif(not MISSING, reason="every family is installed here")
async def test_a_missing_environment_shows_its_install_command(user: User) -> None:
    await user.open(f"/environments/{MISSING[0].id}")

    await user.should_see(MISSING[0].install_hint or "")
    await user.should_not_see("Watch")


async def test_the_score_of_a_random_agent_is_measured(user: User) -> None:
    await user.open("/environments/CartPole-v1")

    user.find("Step").click()

    for _ in range(150):
        if number(user, "Random") != "-":
            break
        await asyncio.sleep(0.2)
    assert 10 < float(number(user, "Random")) < 40
    await user.should_see("the mean of 20 episodes")
