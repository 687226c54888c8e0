import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import InputError
from app.core.settings import read_settings
from app.lab import Lab
from app.run_config.request import RunRequest
from app.run_config.stored import config_of
from storage.database import events, run_sets, runs
from storage.database.tables import RunSetRow
from storage.errors import GroupNotFoundError
from storage.files.lab_folder import LabFolder
from storage.records.grants import Allowance, ChangeableRun, SeenFilter, VisibleRun
from storage.records.run_sets import RunSetKind, RunSetState
from storage.records.runs import EventLevel, EventRecord, RunFilter, RunRecord

NOBODYS = Allowance(owner=None)


@pytest.fixture
async def lab(runs_dir: Path) -> AsyncIterator[Lab]:
    lab = Lab(read_settings([], os.environ))
    yield lab
    await lab.close()


def request(**values: Any) -> RunRequest:
    return RunRequest(env_id="CartPole-v1", algorithm="PPO", **values)


async def test_a_request_without_seeds_creates_one_run_and_no_set(lab: Lab) -> None:
    (run,) = await lab.runs.create(NOBODYS, request(seed=4))

    assert run.group_id is None
    with pytest.raises(GroupNotFoundError):
        await lab.runs.unchecked.group(run.id)


async def test_a_request_with_seeds_creates_a_set_with_name_owner_and_seeds(lab: Lab) -> None:
    created = await lab.runs.create(Allowance(owner="ada"), request(seeds=[5, 1], name="Mine"))

    (group_id,) = {run.group_id for run in created}
    assert group_id is not None
    run_set = run_sets.get_run_set(group_id)
    assert (run_set.kind, run_set.name, run_set.owner) == (RunSetKind.SEEDS, "Mine", "ada")
    assert (run_set.state, run_set.spec, run_set.parent) == (
        RunSetState.CLOSED,
        {"seeds": [5, 1]},
        None,
    )
    assert [run.id for run in await lab.runs.unchecked.group(group_id)] == [
        run.id for run in created
    ]
    assert [run.name for run in created] == ["Mine, seed 5", "Mine, seed 1"]


async def test_given_seeds_are_kept_and_the_log_warns_if_they_share_environments(
    lab: Lab,
) -> None:
    near = await lab.runs.create(NOBODYS, request(seeds=[7, 20, 9], n_envs=4))
    apart = await lab.runs.create(NOBODYS, request(seeds=[7, 11], n_envs=4))

    (warning,) = await _events(lab, near[0], "seeds_near")
    assert [config_of(run).seed for run in near] == [7, 20, 9]
    assert "The seeds 7 and 9 of this group are nearer than its 4 parallel" in warning.message
    assert warning.level is EventLevel.WARNING
    assert not await _events(lab, apart[0], "seeds_near")


async def test_a_seed_of_an_evaluation_is_kept_and_the_log_warns(lab: Lab) -> None:
    (inside,) = await lab.runs.create(NOBODYS, request(seed=999_998, n_envs=4))
    (outside,) = await lab.runs.create(NOBODYS, request(seed=999_998, n_envs=2))

    (warning,) = await _events(lab, inside, "seed_of_evaluations")
    assert "Seeds below a million are not." in warning.message
    assert not await _events(lab, outside, "seed_of_evaluations")


async def _events(lab: Lab, run: RunRecord, event_type: str) -> list[EventRecord]:
    events = await lab.runs.events(VisibleRun(run))
    return [event for event in events if event.event_type == event_type]


async def test_a_single_seed_creates_a_set_too(lab: Lab) -> None:
    (run,) = await lab.runs.create(NOBODYS, request(seeds=1, seed=3))

    assert run.group_id is not None
    assert run_sets.get_run_set(run.group_id).name == "PPO on CartPole-v1"


async def test_several_requests_create_all_runs_or_none(lab: Lab) -> None:
    created = await lab.runs.create(NOBODYS, request(seed=1), request(seeds=2), request(seed=2))
    assert [run.group_id is None for run in created] == [True, False, False, True]

    with pytest.raises(InputError, match="There is no run 'nobody'"):
        await lab.runs.create(NOBODYS, request(seeds=2), request(init_from="nobody"))

    assert len((await lab.runs.list(SeenFilter(RunFilter()))).items) == 4


async def test_a_set_is_deleted_when_its_last_run_can_no_longer_be_restored(lab: Lab) -> None:
    first, second = [
        ChangeableRun(VisibleRun(run)) for run in await lab.runs.create(NOBODYS, request(seeds=2))
    ]
    assert first.group_id is not None
    await lab.runs.delete(first)
    await lab.runs.delete(second)
    with pytest.raises(GroupNotFoundError):
        await lab.runs.unchecked.group(first.group_id)
    await lab.runs.restore(second)
    assert [run.id for run in await lab.runs.unchecked.group(first.group_id)] == [second.id]

    await lab.runs.delete(second)
    assert run_sets.get_run_set(first.group_id)
    await lab.runs._trash.empty()

    with pytest.raises(GroupNotFoundError):
        run_sets.get_run_set(first.group_id)


async def test_a_request_that_is_cancelled_creates_all_of_its_runs(lab: Lab) -> None:
    created = asyncio.Queue[RunRecord]()
    lab.runs.unchecked.run_changed.subscribe(created.put_nowait)
    creating = asyncio.ensure_future(lab.runs.create(NOBODYS, request(seeds=3)))
    group_id = (await created.get()).group_id
    assert group_id is not None

    creating.cancel()
    await lab.runs.close()

    assert len(await lab.runs.unchecked.group(group_id)) == 3
    assert run_sets.get_run_set(group_id).state is RunSetState.CLOSED


async def test_a_set_that_a_killed_server_was_creating_is_removed(lab: Lab) -> None:
    kept, left = [await lab.runs.create(NOBODYS, request(seeds=2)) for _ in range(2)]
    RunSetRow.update(state=RunSetState.OPEN).where(RunSetRow.id == left[0].group_id).execute()
    await lab.open_for_one_command()

    found = (await lab.runs.list(SeenFilter(RunFilter()))).items

    assert {run.id for run in found} == {run.id for run in kept}
    assert not (lab.settings.runs_folder.run(left[0].id).path).exists()


async def test_a_run_whose_files_a_killed_server_left_in_the_trash_gets_them_back(
    lab: Lab,
) -> None:
    (run,) = await lab.runs.create(NOBODYS, request(seed=1))
    folder = lab.settings.runs_folder
    folder.move_to_trash(run.id)

    await lab.runs._trash.empty()

    assert folder.run(run.id).config.is_file()


async def test_a_deleted_run_whose_files_were_not_moved_to_the_trash_is_erased(lab: Lab) -> None:
    (run,) = await lab.runs.create(NOBODYS, request(seed=1))
    folder = lab.settings.runs_folder
    runs.hide_run(run.id)

    await lab.runs._trash.empty()

    assert not folder.run(run.id).path.exists()


async def test_a_run_whose_files_can_not_be_moved_is_not_deleted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = await lab.runs.create(NOBODYS, request(seed=1))

    def fail(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(LabFolder, "move_to_trash", fail)
    with pytest.raises(OSError, match="Read-only"):
        await lab.runs.delete(ChangeableRun(VisibleRun(run)))

    assert (await lab.runs.unchecked.get(run.id)).id == run.id


async def test_a_set_is_read_completely_whatever_its_number_of_runs(lab: Lab) -> None:
    (run,) = await lab.runs.create(NOBODYS, request(seeds=1))
    values: dict[str, Any] = {"env_id": run.env_id, "algorithm": "PPO", "config": run.config}
    for number in range(60):
        runs.create_run(name=f"{number}", group_id=run.group_id, **values)
    assert run.group_id is not None

    assert len(await lab.runs.unchecked.group(run.group_id)) == 61


async def log_of(lab: Lab, **values: Any) -> dict[str, str]:
    (run,) = await lab.runs.create(NOBODYS, RunRequest(**values))
    return {event.event_type: event.message for event in events.list_events(run.id, limit=20)}


async def test_the_log_of_a_run_without_gradient_steps_says_that_it_never_learns(lab: Lab) -> None:
    log = await log_of(
        lab, env_id="Pendulum-v1", algorithm="SAC", hyperparameters={"gradient_steps": 0}
    )

    assert log["never_learns"] == "Learning never starts: gradient_steps is 0."


async def test_the_log_of_a_random_search_says_whose_rewards_it_shows(lab: Lab) -> None:
    searched = await log_of(lab, env_id="CartPole-v1", algorithm="ARS")
    trained = await log_of(lab, env_id="CartPole-v1", algorithm="PPO")

    assert "perturbed copies of the policy: the mean reward is theirs" in searched["perturbed"]
    assert "perturbed" not in trained
