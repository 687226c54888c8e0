import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from nicegui import ui
from nicegui.testing import User

from app.run_config import RunConfig, RunRequest
from app.runs.state import RunFeed
from components.setup import LiveChanges
from storage.records import Progress, RunRecord, RunStatus

HELD = (
    "Schedules end at step 1,000 as before and keep their last value: "
    "learning_rate 0, exploration_rate 0.05."
)
STRETCHED = (
    "Schedules now end at step 2,000: learning_rate goes from 0 to 0.0005, "
    "exploration_rate stays 0.05."
)


def finished_run(**values: Any) -> RunRecord:
    request = RunRequest(
        env_id="CartPole-v1", algorithm="DQN", total_timesteps=1_000, hyperparameters=values
    )
    now = datetime.now(UTC)
    return RunRecord(
        id="r1",
        name="first",
        env_id="CartPole-v1",
        algorithm="DQN",
        status=RunStatus.COMPLETED,
        config=RunConfig.from_request(request).model_dump(mode="json"),
        created_at=now,
        updated_at=now,
        progress=Progress(timesteps=1_000),
    )


def page_with(run: RunRecord, requested: asyncio.Queue[dict[str, Any]]) -> None:
    async def request(values: dict[str, Any]) -> None:
        await requested.put(values)

    @ui.page("/extending")
    def page() -> None:
        LiveChanges(on_change=request).show(RunFeed(run, [], []))


async def test_the_page_says_what_an_extension_does_to_schedules_before_it_is_requested(
    user: User,
) -> None:
    requested: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    run = finished_run(
        learning_rate="1e-3 -> 0", exploration_fraction=0.5, exploration_final_eps=0.05
    )
    page_with(run, requested)

    await user.open("/extending")
    await user.should_not_see("Schedules")
    user.find("New total timesteps").type("2,000")
    await user.should_see(HELD)
    user.find("Schedules").click()
    user.find("Stretch over the new total").click()
    await user.should_see(STRETCHED)
    user.find("Apply").click()

    assert await requested.get() == {"total_timesteps": 2_000, "schedules": "stretch"}


async def test_there_is_nothing_to_choose_for_a_run_without_schedules_or_steps(user: User) -> None:
    constant = finished_run(exploration_initial_eps=0.05, exploration_final_eps=0.05)
    waiting = replace(finished_run(), status=RunStatus.CREATED, progress=Progress())
    for run in (constant, waiting):
        requested: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        page_with(run, requested)

        await user.open("/extending")
        user.find("New total timesteps").type("2,000")
        await user.should_not_see("Schedules")
        user.find("Apply").click()

        assert await requested.get() == {"total_timesteps": 2_000}
