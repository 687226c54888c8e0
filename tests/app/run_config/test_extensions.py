"""What another budget does to schedules, in numbers and words."""

from typing import Any

import pytest

from app.run_config import RunConfig, RunRequest, describe_extension, settings_after

SCHEDULED = {"learning_rate": "1e-3 -> 0"}


def config_of(*, total: int = 1_000, algorithm: str = "PPO", **values: Any) -> RunConfig:
    request = RunRequest(
        env_id="CartPole-v1", algorithm=algorithm, total_timesteps=total, hyperparameters=values
    )
    return RunConfig.from_request(request)


def after(config: RunConfig, total: int, mode: str | None) -> RunConfig:
    change = {"total_timesteps": total, "schedules": mode}
    return config.model_copy(update=settings_after(config, change))


@pytest.mark.parametrize(
    ("budgets", "end"),
    [
        ([(2_000, "hold")], 1_000),
        ([(2_000, "hold"), (4_000, "hold")], 1_000),
        ([(2_000, "stretch")], 2_000),
        ([(2_000, "stretch"), (4_000, "hold")], 2_000),
        ([(2_000, "hold"), (4_000, "stretch")], 4_000),
        # Of a version that always stretched them.
        ([(2_000, None)], 2_000),
        # Schedules never end after the run.
        ([(500, "hold")], 500),
        ([(2_000, "hold"), (1_500, "hold")], 1_000),
    ],
)
def test_changes_of_the_budget_compose(budgets: list[tuple[int, str | None]], end: int) -> None:
    config = config_of(**SCHEDULED)

    for total, mode in budgets:
        config = after(config, total, mode)

    assert config.total_timesteps == budgets[-1][0]
    assert config.schedule_end == end


def test_a_run_without_schedules_has_nothing_to_describe() -> None:
    assert describe_extension(config_of(), 2_000, "hold", at=1_000) is None


def test_a_schedule_that_stretches_tells_its_values_before_and_after() -> None:
    words = describe_extension(config_of(**SCHEDULED), 2_000, "stretch", at=500)

    assert words == "Schedules now end at step 2,000: learning_rate goes from 0.0005 to 0.00075."


def test_exploration_counts_as_a_schedule() -> None:
    dqn = config_of(algorithm="DQN", exploration_fraction=0.5, exploration_final_eps=0.1)

    held = describe_extension(dqn, 2_000, "hold", at=1_000)
    stretched = describe_extension(dqn, 4_000, "stretch", at=1_000)

    assert held == (
        "Schedules end at step 1,000 as before and keep their last value: exploration_rate 0.1."
    )
    assert stretched == ("Schedules now end at step 4,000: exploration_rate goes from 0.1 to 0.55.")
