from datetime import UTC, datetime

from nicegui import ui
from nicegui.testing import User

from components.history.run_list import RunList
from storage.records.runs import RunRecord, RunStatus
from tests.stored_configs import stored_config


def run(name: str, seed: int) -> RunRecord:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return RunRecord(
        id=name,
        name=name,
        env_id="CartPole-v1",
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config=stored_config(seed=seed),
        created_at=now,
        updated_at=now,
    )


async def test_a_seed_is_shown_below_the_name_where_it_is_not_truncated(user: User) -> None:
    @ui.page("/list")
    def page() -> None:
        RunList().show([run("Sweep, seed 2331", 2331), run("Mine", 7)], None)

    await user.open("/list")

    await user.should_see("PPO · CartPole-v1 · seed 2331")
    await user.should_not_see("Sweep, seed 2331", retries=1)
    await user.should_see("Mine")
    await user.should_not_see("seed 7", retries=1)
