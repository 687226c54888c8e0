import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from nicegui import core, ui
from nicegui.testing import User

from app.catalog.environments.catalogue import ENVIRONMENTS
from components.history.run_table import RunTable
from components.setup.form_memory import FormMemory
from storage.database import runs
from storage.records.runs import RunStatus
from tests.stored_configs import stored_config

pytestmark = pytest.mark.slow


async def eventually(user: User, text: str, *, within: float = 60) -> None:
    """Wait for real workers, which take longer than the timeout of the fixture."""
    for _ in range(int(within / 0.2)):
        try:
            await user.should_see(text, retries=1)
        except AssertionError:
            await asyncio.sleep(0.2)
        else:
            return
    await user.should_see(text)


def field_of(user: User, name: str) -> ui.input:
    (field,) = user.find(kind=ui.input, marker=name).elements
    return field


def type_into(user: User, name: str, text: str) -> None:
    field_of(user, name).set_value(text)


async def test_an_empty_lab_shows_what_to_do(user: User) -> None:
    await user.open("/train")

    await user.should_see("RL LAB // GYM MANAGER")
    await user.should_see("Pick an environment and press Train.")
    await user.should_see("No events yet")
    await user.should_see("No rewards yet")
    for name in ("Mean reward", "Eps length", "Loss", "FPS"):
        (number,) = (e for e in user.find(name).elements if "lab-number" in e.classes)
        assert isinstance(number, ui.label)
        assert number.text == "-"


async def test_dqn_is_rejected_for_the_walker_with_the_reason(user: User) -> None:
    await user.open("/train")

    user.find("BipedalWalker-v3").click()
    (algorithm,) = user.find("Algorithm").elements
    assert isinstance(algorithm, ui.select)
    algorithm.set_value("DQN")

    assert algorithm.error == "DQN needs discrete actions, BipedalWalker-v3 has continuous ones."
    assert not train_button(user).enabled

    user.find("CartPole-v1").click()

    assert algorithm.error is None
    assert train_button(user).enabled


async def test_cards_are_searched_by_id_name_and_family(user: User) -> None:
    await user.open("/train")

    user.find(kind=ui.input, content="Search").type("atari pong")

    await user.should_see("ALE/Pong-v5")
    await user.should_not_see(marker="CartPole-v1")
    await user.should_not_see("ALE/Breakout-v5")

    user.find(kind=ui.input, content="Search").clear().type("no such thing")

    await user.should_see("No card matches.")


async def test_a_missing_family_shows_its_install_command_and_cannot_be_selected(
    user: User,
) -> None:
    missing = [spec for spec in ENVIRONMENTS.values() if not spec.is_installed]
    if not missing:
        pytest.skip("every family is installed here")
    await user.open("/train")

    await user.should_see(missing[0].install_hint or "a command")
    user.find(missing[0].id).click()

    assert checked_cards(user) == {"CartPole-v1"}


async def test_arrow_keys_move_the_selection(user: User) -> None:
    await user.open("/train")

    user.find(kind=ui.element, marker="environments").trigger("keydown.down.prevent")

    assert checked_cards(user) == {"LunarLander-v3"}

    for _ in range(2):
        user.find(kind=ui.element, marker="environments").trigger("keydown.up.prevent")

    last = [spec.id for spec in ENVIRONMENTS.values() if spec.is_installed][-1]
    assert checked_cards(user) == {last}


def checked_cards(user: User) -> set[str]:
    return {
        spec.id
        for spec in ENVIRONMENTS.values()
        for card in user.find(kind=ui.element, marker=spec.id).elements
        if card.props["aria-checked"] == "true"
    }


def train_button(user: User) -> ui.button:
    (button,) = user.find(kind=ui.button, content="Train").elements
    return button


INVALID_VALUES = (
    ("learning_rate", "0", "Learning rate must be a number from 1e-08 to 1, got 0."),
    ("learning_rate", "fast", "Learning rate: a number from 1e-08 to 1, or 0.001 -> 0."),
    ("Total_timesteps", "-5", "Total timesteps must be at least 1, got -5."),
    ("Total_timesteps", "1e12", "at most 1,000,000,000"),
    ("Parallel_envs", "0", "Parallel envs must be at least 1"),
    ("Seed", "x", "Seed must be a whole number, got 'x'."),
    ("net_arch", "64, big", "a list of 0 to 8 layer sizes"),
    ("net_arch", "pi: 64; qf: 64", "one for each of pi and vf"),
    ("batch_size", "9999", "larger than one rollout"),
)


async def test_an_invalid_value_is_reported_under_its_field_until_it_is_corrected(
    user: User,
) -> None:
    await user.open("/train")

    for field, text, problem in INVALID_VALUES:
        default = field_of(user, field).value
        type_into(user, field, text)
        assert problem in (field_of(user, field).error or ""), field
        assert not train_button(user).enabled
        type_into(user, field, default)
        assert not field_of(user, field).error
        assert train_button(user).enabled


async def test_every_invalid_value_is_reported_under_its_own_field(user: User) -> None:
    await user.open("/train")

    type_into(user, "Total_timesteps", "-5")
    type_into(user, "Seed", "x")
    type_into(user, "learning_rate", "fast")
    type_into(user, "gamma", "2")

    for field in ("Total_timesteps", "Seed", "learning_rate", "gamma"):
        assert field_of(user, field).error
    assert not train_button(user).enabled

    type_into(user, "Seed", "1")

    assert not field_of(user, "Seed").error
    assert field_of(user, "Total_timesteps").error


async def test_the_form_restores_the_draft_that_a_tab_has_stored(user: User) -> None:
    await user.open("/train")
    typed = {"total_timesteps": "4,321", "hyperparameters.gamma": "2", "seed": 7, "nothing": "x"}
    draft = {"env": "CartPole-v1", "algorithm": "A2C", "preset": "", "typed": typed}

    user.find(kind=FormMemory).trigger("recall", draft)

    assert field_of(user, "Total_timesteps").value == "4,321"
    assert field_of(user, "Seed").value == ""
    assert field_of(user, "gamma").error
    await user.should_see("A2C on CartPole-v1")
    (memory,) = user.find(kind=FormMemory).elements
    changed = {"total_timesteps": "4,321", "hyperparameters.gamma": "2"}
    assert memory.props["draft"] == {**draft, "typed": changed}


async def test_each_algorithm_offers_its_own_hyperparameters(user: User) -> None:
    await user.open("/train")
    (algorithm,) = user.find("Algorithm").elements
    assert isinstance(algorithm, ui.select)
    await user.should_see("clip_range")

    algorithm.set_value("DQN")

    await user.should_see("buffer_size")
    await user.should_not_see("clip_range")


async def test_an_engine_that_lacks_an_option_is_rejected_with_the_reason(user: User) -> None:
    await user.open("/train")
    (engine,) = user.find(kind=ui.select, marker="engine").elements

    engine.set_value("fast")
    assert train_button(user).enabled
    (switch,) = user.find(kind=ui.checkbox, marker="layer_norm").elements
    switch.set_value(True)

    assert ("the fast engine does not support layer normalization (layer_norm)") in (
        engine.error or ""
    )
    assert not train_button(user).enabled


async def test_training_shows_metrics_and_ends_in_the_event_log_and_the_run_list(
    user: User,
) -> None:
    await user.open("/train")
    type_into(user, "Total_timesteps", "3,000")
    type_into(user, "Name", "My first run")

    user.find(kind=ui.button, content="Train").click()

    await eventually(user, "Training started.")
    await eventually(user, "Training complete")
    await user.should_see("completed")
    await user.should_see("My first run")
    await user.should_see("Download model.zip")
    (mean,) = (e for e in user.find("Mean reward").elements if "lab-number" in e.classes)
    assert isinstance(mean, ui.label)
    assert float(mean.text) > 0

    await user.open("/runs")
    await user.should_see(kind=RunTable, retries=50)
    (table,) = user.find(kind=RunTable).elements
    assert [(row["name"], row["status"]) for row in table.props["rows"]] == [
        ("My first run", "completed")
    ]


async def test_a_second_visitor_sees_the_same_run(user: User) -> None:
    await user.open("/train")
    type_into(user, "Total_timesteps", "2,000,000")
    user.find(kind=ui.button, content="Train").click()
    await eventually(user, "Training started.")

    transport = httpx.ASGITransport(core.app)
    other = User(httpx.AsyncClient(transport=transport, base_url="http://test"))
    await other.open("/train")

    await other.should_see("running")
    await other.should_see("Training started.")
    other.find(kind=ui.button, content="Stop").click()
    await eventually(user, "The model was saved.")


async def test_a_locked_database_is_reported_when_train_is_pressed(
    user: User, runs_dir: Path
) -> None:
    await user.open("/train")
    with closing(sqlite3.connect(runs_dir / "lab.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        user.find(kind=ui.button, content="Train").click()

        await eventually(user, "another program has locked it")
    assert train_button(user).enabled


async def test_a_missing_run_is_reported(user: User) -> None:
    await user.open("/runs/0123456789ab")

    await user.should_see("There is no run '0123456789ab'.")
    await user.should_see("All runs")
    await user.should_see("Train a new run")


async def test_a_run_of_another_version_is_shown_and_training_it_again_is_refused(
    user: User,
) -> None:
    await user.open("/runs")
    config = stored_config(of_a_later_version=1)
    run = runs.create_run(name="Later", env_id="CartPole-v1", algorithm="PPO", config=config)
    for status in (RunStatus.QUEUED, RunStatus.STARTING, RunStatus.RUNNING, RunStatus.FAILED):
        runs.change_status(run.id, status)

    await user.open(f"/runs/{run.id}")
    await user.should_see("can't read the run's configuration")
    user.find("Train again").click()

    await user.should_see(f"The configuration of run {run.id} can't be read")


async def test_the_run_list_is_empty_at_first(user: User) -> None:
    await user.open("/runs")

    await user.should_see("No runs yet")


@pytest.mark.slow
async def test_any_installed_environment_can_be_used_by_its_id(user: User) -> None:
    await user.open("/train")
    search = user.find(kind=ui.input, content="Search")

    search.type("MiniGrid-LavaGapS5-v0")
    await user.should_see("Any installed Gymnasium id can be used.")
    user.find("Use this id").click()
    await user.should_see(marker="MiniGrid-LavaGapS5-v0", retries=600)
    search.clear()
    search.type("NoSuchThing-v9")
    user.find("Use this id").click()

    await user.should_see("Unknown environment 'NoSuchThing-v9'", retries=600)


async def test_taxi_says_that_ppo_stalls_with_the_defaults(user: User) -> None:
    await user.open("/train?env=Taxi-v4&algorithm=PPO")

    await user.should_see("or MaskablePPO, which takes only legal actions")
