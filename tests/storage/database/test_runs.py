import base64
from typing import Any

import pytest
from peewee import Database

from storage.database import events, runs
from storage.database.database import Address, open_database
from storage.database.tables.runs import RunRow, SchemaRow
from storage.errors import (
    BadCursorError,
    DatabaseTooNewError,
    RunNotFoundError,
    WrongStateError,
)
from storage.records.history import SORTABLE
from storage.records.runs import EventLevel, Progress, RunFilter, RunRecord, RunStatus, Visibility
from tests.storage.queries import queries_of

pytestmark = pytest.mark.usefixtures("database")


def create(name: str = "a run", **values: Any) -> RunRecord:
    wanted = {"env_id": "CartPole-v1", "algorithm": "PPO", **values}
    return runs.create_run(name=name, config={"total_timesteps": 100}, **wanted)


def test_a_new_run_is_created_and_can_be_found() -> None:
    run = create(tags=["first"])

    assert run.status is RunStatus.CREATED
    assert runs.get_run(run.id) == run
    assert run.created_at.tzinfo is not None


def test_environments_are_solved_by_existing_runs_only() -> None:
    solved, deleted, _ = create(owner="ada"), create(env_id="Acrobot-v1"), create(env_id="Taxi-v4")
    other = create(env_id="LunarLander-v3", owner="bob")
    for run in (solved, deleted, other):
        runs.save_progress(run.id, Progress(timesteps=50, solved_at=40), None)
    runs.hide_run(deleted.id)

    assert runs.solved_environments(RunFilter()) == {"CartPole-v1", "LunarLander-v3"}
    assert runs.solved_environments(RunFilter(owner="ada")) == {"CartPole-v1"}


def test_ids_can_not_be_guessed() -> None:
    ids = {create().id for _ in range(20)}

    assert len(ids) == 20
    assert all(len(run_id) >= 12 for run_id in ids)


def test_the_error_about_an_unknown_run_contains_its_id() -> None:
    with pytest.raises(RunNotFoundError, match="There is no run 'nope'"):
        runs.get_run("nope")


def test_a_run_passes_from_queued_to_completed() -> None:
    run = create()

    for status in (RunStatus.QUEUED, RunStatus.STARTING, RunStatus.RUNNING, RunStatus.COMPLETED):
        run = runs.change_status(run.id, status)

    assert run.started_at is not None
    assert run.finished_at is not None


def test_a_completed_run_cannot_be_stopped() -> None:
    run = create()
    for status in (RunStatus.QUEUED, RunStatus.STARTING, RunStatus.COMPLETED):
        runs.change_status(run.id, status)

    with pytest.raises(WrongStateError, match=r"is completed and can't become stopped\."):
        runs.change_status(run.id, RunStatus.STOPPED)


def test_pages_of_a_list_have_no_gap_or_overlap() -> None:
    created = [create(f"run {i}") for i in range(7)]

    first = runs.list_runs(limit=3)
    second = runs.list_runs(limit=3, cursor=first.next)
    third = runs.list_runs(limit=3, cursor=second.next)

    listed = [run.id for page in (first, second, third) for run in page.items]
    assert listed == [run.id for run in reversed(created)]
    assert third.next is None


def test_pages_have_no_gap_or_overlap_in_every_order() -> None:
    for i in range(5):
        run = create(f"run {i % 2}")
        if i % 2:
            runs.save_progress(run.id, Progress(timesteps=i), {"mean_reward": i / 2})

    for sort in SORTABLE:
        for order in (sort, f"-{sort}"):
            first = runs.list_runs(sort=order, limit=2)
            rest = runs.list_runs(sort=order, limit=5, cursor=first.next)
            assert len({run.id for run in (*first.items, *rest.items)}) == 5, order


def test_an_invalid_cursor_is_refused() -> None:
    create()
    other_order = runs.list_runs(sort="name", limit=1)
    create()
    other_order = runs.list_runs(sort="name", limit=1)
    forged = base64.urlsafe_b64encode(b"-created_at|abc|0001-01-01T00:00:00+14:00").decode()

    for cursor in ("nonsense!", "YQ==", "%%%", "YWJ8eHl6", forged, other_order.next):
        with pytest.raises(BadCursorError):
            runs.list_runs(cursor=cursor)


def test_filters_combine() -> None:
    wanted = create("the one", env_id="LunarLander-v3", tags=["ppo"])
    create("another", env_id="LunarLander-v3", tags=["ppo-2"])
    create("third", tags=["ppo"])

    found = runs.list_runs(RunFilter(env_id="LunarLander-v3", tag="ppo")).items

    assert [run.id for run in found] == [wanted.id]
    assert [run.id for run in runs.list_runs(RunFilter(text="the o")).items] == [wanted.id]


def test_a_tag_with_quotes_is_found() -> None:
    run = create(tags=['say "hi"', "back\\slash"])

    for tag in run.tags:
        assert [found.id for found in runs.list_runs(RunFilter(tag=tag)).items] == [run.id]


def test_archived_runs_are_excluded_unless_requested() -> None:
    run = create()
    runs.change_run(run.id, archived=True)

    assert runs.list_runs().items == ()
    assert len(runs.list_runs(RunFilter(archived=None)).items) == 1
    assert len(runs.list_runs(RunFilter(archived=True)).items) == 1


def test_the_queue_is_in_order_of_queueing() -> None:
    first, second = create(), create()
    runs.change_status(second.id, RunStatus.QUEUED)
    runs.change_status(first.id, RunStatus.QUEUED)

    assert [run.id for run in runs.queued_runs()] == [second.id, first.id]


def test_a_long_queue_is_read_with_one_query_and_no_config(database: Database) -> None:
    for _ in range(20):
        runs.change_status(create(owner="ada").id, RunStatus.QUEUED)

    with queries_of(database) as queries:
        queued = runs.queued_runs()

    assert [run.owner for run in queued] == ["ada"] * 20
    assert len(queries) == 1
    assert "json" not in queries[0]


def test_a_place_in_the_queue_is_read_with_two_queries(database: Database) -> None:
    queued, idle = [create() for _ in range(5)], create()
    for run in reversed(queued):
        runs.change_status(run.id, RunStatus.QUEUED)
    same = RunRow.get_by_id(queued[4].id).queued_at
    early = sorted(run.id for run in queued[3:])
    RunRow.update(queued_at=same).where(RunRow.id.in_(early)).execute()

    with queries_of(database) as queries:
        assert runs.place_in_queue(queued[0].id) == 5
    assert len(queries) == 2
    assert all("LIMIT" in query or "COUNT" in query for query in queries)
    assert [runs.place_in_queue(run_id) for run_id in early] == [1, 2]
    assert [run.id for run in runs.queued_runs()][:2] == early
    assert runs.place_in_queue(idle.id) is None
    assert runs.place_in_queue("nope") is None


def test_a_training_run_takes_precedence_over_a_newer_one() -> None:
    training = create()
    create()
    runs.change_status(training.id, RunStatus.QUEUED)
    runs.change_status(training.id, RunStatus.STARTING)

    newest = runs.newest_run()

    assert newest is not None
    assert newest.id == training.id


def test_progress_is_stored() -> None:
    run = create()
    runs.save_progress(run.id, Progress(timesteps=50, episodes=3, best=1.5), {"loss": 0.1})

    stored = runs.get_run(run.id)

    assert stored.progress.timesteps == 50
    assert stored.latest == {"loss": 0.1}
    assert stored.share_done == 0.5


def test_the_share_done_is_at_most_1() -> None:
    run = create()
    runs.save_progress(run.id, Progress(timesteps=2_048), None)

    assert runs.get_run(run.id).share_done == 1.0


def test_a_hidden_run_is_not_found_until_it_is_restored() -> None:
    run = create()
    events.add_event(run.id, "created", "Hello")
    runs.hide_run(run.id)

    with pytest.raises(RunNotFoundError):
        runs.get_run(run.id)
    assert runs.restore_run(run.id).id == run.id
    assert len(events.list_events(run.id)) == 1


def test_the_events_of_a_run_are_erased_with_it() -> None:
    run = create()
    events.add_event(run.id, "created", "Hello")
    runs.hide_run(run.id)
    runs.erase_run(run.id)

    with pytest.raises(RunNotFoundError):
        runs.restore_run(run.id)
    assert events.list_events(run.id) == ()


def test_an_active_run_can_not_be_deleted() -> None:
    run = create()
    runs.change_status(run.id, RunStatus.QUEUED)

    with pytest.raises(WrongStateError, match="Stop it first"):
        runs.hide_run(run.id)


def test_events_are_listed_newest_first_and_in_pages() -> None:
    run = create()
    created = [events.add_event(run.id, "note", f"event {i}") for i in range(5)]

    assert [event.id for event in events.list_events(run.id)] == [e.id for e in reversed(created)]
    assert len(events.list_events(run.id, after=created[2].id)) == 2
    assert len(events.list_events(run.id, before=created[2].id)) == 2


def test_an_event_keeps_its_level_and_data() -> None:
    run = create()
    events.add_event(run.id, "failed", "Broken", level=EventLevel.ERROR, data={"step": 3})

    (event,) = events.list_events(run.id)

    assert event.level is EventLevel.ERROR
    assert event.data == {"step": 3}


def test_a_database_of_a_newer_version_is_refused(address: Address, database: Database) -> None:
    SchemaRow.update(version=99).execute()
    database.close()

    with pytest.raises(DatabaseTooNewError, match="version 99"):
        open_database(address)


def test_opening_a_database_twice_changes_nothing(address: Address, database: Database) -> None:
    run = create()
    database.close()

    reopened = open_database(address)

    assert runs.get_run(run.id) == run
    reopened.close()


def test_users_see_their_own_runs_and_those_shared_with_them() -> None:
    create("hers", owner="ada")
    shared = create("shared", owner="bob")
    runs.change_run(shared.id, shared_json=["ada"])
    public = create("public", owner="bob")
    runs.change_run(public.id, visibility=Visibility.EVERYONE)
    create("his", owner="bob")
    create("nobody's")

    seen = {run.name for run in runs.list_runs(RunFilter(seen_by="ada")).items}

    assert seen == {"hers", "shared", "public"}
    assert {run.name for run in runs.list_runs(RunFilter(seen_by="ad")).items} == {"public"}
    assert runs.get_run(shared.id).shared_with == ("ada",)
    newest = runs.newest_run(RunFilter(seen_by="ada"))
    assert newest is not None
    assert newest.name == "public"


def test_a_name_can_contain_any_character() -> None:
    name = "zero \0, quote ', percent %, snowman \N{SNOWMAN}"

    run = create(name)

    assert runs.get_run(run.id).name == name.replace("\0", "\N{REPLACEMENT CHARACTER}")
    assert [r.id for r in runs.list_runs(RunFilter(text="zero \0")).items] == [run.id]
    assert [r.id for r in runs.list_runs(RunFilter(text="percent %")).items] == [run.id]
