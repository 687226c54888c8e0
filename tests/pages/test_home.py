import asyncio

import pytest
from nicegui import ui
from nicegui.testing import User

from app.catalog.environments.catalogue import ENVIRONMENTS
from storage.database import runs
from storage.records.runs import Progress

pytestmark = pytest.mark.slow


def visible_environments(user: User) -> set[str]:
    """Return the environments whose cards are shown."""
    with user:
        cards = [
            element
            for element in ui.context.client.elements.values()
            if "lab-env" in element.classes and element.visible
        ]
    return {next(iter(card._markers)) for card in cards}


async def should_show(user: User, env_ids: set[str]) -> None:
    """Wait until only these cards are shown; solved ones are determined after the page opens."""
    for _ in range(50):
        if visible_environments(user) == env_ids:
            return
        await asyncio.sleep(0.1)
    assert visible_environments(user) == env_ids


def add_run(env_id: str = "CartPole-v1", *, solved_at: int | None = None) -> None:
    run = runs.create_run(
        name=f"My run on {env_id}",
        env_id=env_id,
        algorithm="PPO",
        config={"total_timesteps": 500},
    )
    runs.save_progress(run.id, Progress(timesteps=500, solved_at=solved_at), None)


async def test_a_first_visit_shows_a_welcome_and_offers_the_tour(user: User) -> None:
    await user.open("/")

    await user.should_see("Train an agent and watch it learn")
    await user.should_see("Take the tour")
    assert visible_environments(user) == set(ENVIRONMENTS)


async def test_existing_runs_replace_the_welcome(user: User) -> None:
    await user.open("/")
    add_run()

    await user.open("/")

    await user.should_see("My run on CartPole-v1")
    await user.should_not_see("Train an agent and watch it learn", retries=1)


async def test_hiding_the_welcome_shows_the_run_list(user: User) -> None:
    await user.open("/")
    await user.should_see("Hide", retries=50)

    user.find("Hide").click()

    await user.should_see("No runs yet")
    await user.should_not_see("Train an agent and watch it learn", retries=1)


async def test_a_url_restores_the_same_view(user: User) -> None:
    await user.open("/?q=lander&actions=continuous")

    assert visible_environments(user) == {"LunarLanderContinuous-v3"}
    await user.should_see(f"1 of {len(ENVIRONMENTS)} environments")
    (search,) = user.find(kind=ui.input).elements
    assert search.value == "lander"


async def test_a_filter_without_matches_is_reported_and_can_be_cleared(user: User) -> None:
    await user.open("/?q=no such thing")

    await user.should_see('No environment matches "no such thing"')
    user.find("Clear the filter").click()

    assert visible_environments(user) == set(ENVIRONMENTS)


async def test_environments_are_filtered_by_whether_they_are_solved(user: User) -> None:
    await user.open("/")
    add_run(solved_at=400)
    add_run("Acrobot-v1")

    await user.open("/?solved=yes")
    await should_show(user, {"CartPole-v1"})

    await user.open("/?solved=no&family=classic+control")
    await should_show(user, {"Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0"})


async def test_a_missing_family_shows_its_install_command(user: User) -> None:
    missing = [spec for spec in ENVIRONMENTS.values() if not spec.is_installed]
    if not missing:
        pytest.skip("every family is installed here")
    await user.open("/?family=" + missing[0].family)

    await user.should_see("Not installed. Install its family with:")
    await user.should_see(missing[0].install_hint or "")
