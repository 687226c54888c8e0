import asyncio

import pytest
from nicegui import ui
from nicegui.testing import User

from app.catalog.environments.catalogue import CATALOGUE
from storage.database import runs
from storage.records.runs import Progress

pytestmark = pytest.mark.slow


def in_sight(user: User) -> set[str]:
    """Return the environments whose cards are shown."""
    with user:
        cards = [
            element
            for element in ui.context.client.elements.values()
            if "lab-env" in element.classes and element.visible
        ]
    return {next(iter(card._markers)) for card in cards}


async def should_show(user: User, env_ids: set[str]) -> None:
    """Wait until just these cards are shown: what was solved is found out after the page opens."""
    for _ in range(50):
        if in_sight(user) == env_ids:
            return
        await asyncio.sleep(0.1)
    assert in_sight(user) == env_ids


def add_run(env_id: str = "CartPole-v1", *, solved_at: int | None = None) -> None:
    run = runs.create_run(
        name=f"My run on {env_id}",
        env_id=env_id,
        algorithm="PPO",
        config={"total_timesteps": 500},
    )
    runs.save_progress(run.id, Progress(timesteps=500, solved_at=solved_at), None)


async def test_a_first_visit_is_welcomed_and_shown_the_way(user: User) -> None:
    await user.open("/")

    await user.should_see("Train an agent and watch it learn")
    await user.should_see("Take the tour")
    assert in_sight(user) == set(CATALOGUE)


async def test_who_has_runs_sees_them_instead(user: User) -> None:
    await user.open("/")
    add_run()

    await user.open("/")

    await user.should_see("My run on CartPole-v1")
    await user.should_not_see("Train an agent and watch it learn", retries=1)


async def test_a_hidden_welcome_leaves_room_for_the_list(user: User) -> None:
    await user.open("/")
    await user.should_see("Hide", retries=50)

    user.find("Hide").click()

    await user.should_see("No runs yet")
    await user.should_not_see("Train an agent and watch it learn", retries=1)


async def test_an_address_opens_the_same_view_again(user: User) -> None:
    await user.open("/?q=lander&actions=continuous")

    assert in_sight(user) == {"LunarLanderContinuous-v3"}
    await user.should_see(f"1 of {len(CATALOGUE)} environments")
    (search,) = user.find(kind=ui.input).elements
    assert search.value == "lander"


async def test_filtered_to_nothing_says_so_and_offers_a_way_back(user: User) -> None:
    await user.open("/?q=no such thing")

    await user.should_see('No environment matches "no such thing"')
    user.find("Clear the filter").click()

    assert in_sight(user) == set(CATALOGUE)


async def test_what_was_solved_is_marked_and_can_be_asked_for(user: User) -> None:
    await user.open("/")
    add_run(solved_at=400)
    add_run("Acrobot-v1")

    await user.open("/?solved=yes")
    await should_show(user, {"CartPole-v1"})

    await user.open("/?solved=no&family=classic+control")
    await should_show(user, {"Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0"})


async def test_a_family_that_is_missing_says_how_to_get_it(user: User) -> None:
    missing = [spec for spec in CATALOGUE.values() if not spec.is_installed]
    if not missing:
        pytest.skip("every family is installed here")
    await user.open("/?family=" + missing[0].family)

    await user.should_see("Not installed. Add its family with:")
    await user.should_see(missing[0].install_hint or "")
