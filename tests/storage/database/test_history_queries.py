from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from peewee import Database

from storage.database import runs
from storage.database.history import facets, history_page
from storage.database.sketches import MOST_POINTS, Sketcher, sketch
from storage.records.history import SORTABLE
from storage.records.runs import Progress, RunFilter, RunRecord

pytestmark = pytest.mark.usefixtures("database")


def create(name: str = "a run", *, score: float | None = None, **values: Any) -> RunRecord:
    wanted = {"env_id": "CartPole-v1", "algorithm": "PPO", **values}
    run = runs.create_run(name=name, config={"total_timesteps": 100}, **wanted)
    if score is not None:
        runs.save_progress(run.id, Progress(timesteps=10), {"mean_reward": score})
    return runs.get_run(run.id)


def names(wanted: RunFilter = RunFilter(), **how: Any) -> list[str]:  # noqa: B008 - frozen
    return [entry[0].name for entry in history_page(wanted, **how).entries]


@contextmanager
def queries_of(database: Database) -> Iterator[list[str]]:
    asked: list[str] = []
    usual = database.execute_sql

    def note(sql: str, *more: Any) -> Any:
        asked.append(sql)
        return usual(sql, *more)

    database.execute_sql = note
    yield asked
    database.execute_sql = usual


def test_seeds_of_a_group_are_one_entry_in_the_order_of_their_making() -> None:
    seeds = [create(f"seed {i}", group_id="g") for i in range(3)]
    alone = create("alone")

    page = history_page(RunFilter())

    assert [[run.id for run in entry] for entry in page.entries] == [
        [alone.id],
        [run.id for run in seeds],
    ]
    assert (page.entry_count, page.run_count, page.page_count) == (2, 4, 1)


def test_a_page_is_read_with_at_most_three_queries(database: Database) -> None:
    for i in range(30):
        create(f"run {i}", group_id=f"g{i}" if i % 3 else None)

    with queries_of(database) as asked:
        page = history_page(RunFilter(), sort="-score", per_page=10)
        facets(RunFilter(archived=None))

    assert len(page.entries) == 10
    assert len(asked) == 3


def test_pages_meet_without_gap_or_overlap_in_every_order() -> None:
    for i in range(7):
        create(f"run {i % 2}", score=i / 2 if i % 3 else None, group_id="g" if i > 4 else None)

    for sort in SORTABLE:
        for order in (sort, f"-{sort}"):
            pages = [history_page(RunFilter(), sort=order, number=n, per_page=2) for n in (1, 2, 3)]
            seen = [run.id for page in pages for entry in page.entries for run in entry]
            assert len(seen) == len(set(seen)) == 7, order


def test_a_page_too_far_is_the_last_one() -> None:
    for i in range(3):
        create(f"run {i}")

    page = history_page(RunFilter(), number=9, per_page=2)

    assert (page.number, page.first, page.last) == (2, 3, 3)
    assert history_page(RunFilter(text="nothing"), number=9).entries == ()


def test_what_was_not_measured_comes_last_either_way() -> None:
    create("best", score=9.0)
    create("worst", score=1.0)
    create("unmeasured")

    assert names(sort="-score") == ["best", "worst", "unmeasured"]
    assert names(sort="score") == ["worst", "best", "unmeasured"]


def test_a_group_stands_where_its_interquartile_mean_belongs() -> None:
    for i, score in enumerate([0.0, 50.0, 50.0, 1_000.0]):
        create(f"seed {i}", score=score, group_id="g")
    create("better", score=51.0)
    create("worse", score=49.0)

    assert names(sort="-score") == ["better", "seed 0", "worse"]


def test_names_are_sorted_as_people_read_them() -> None:
    for name in ("beta", "Alpha", "Gamma"):
        create(name)

    assert names(sort="name") == ["Alpha", "beta", "Gamma"]


def test_a_run_is_found_by_a_tag_or_a_note() -> None:
    create("tagged", tags=["baseline"])
    noted = create("noted")
    create("neither")
    runs.change_run(noted.id, notes="Try a smaller baseline network.")

    assert set(names(RunFilter(text="baseline"))) == {"tagged", "noted"}


def test_facets_name_what_there_is_and_nothing_hidden() -> None:
    create(tags=["b", "A"], owner="ada")
    create(env_id="Acrobot-v1", algorithm="DQN", owner="bob")
    runs.hide_run(create(env_id="Taxi-v4").id)

    found = facets(RunFilter(archived=None))

    assert found.env_ids == ("Acrobot-v1", "CartPole-v1")
    assert (found.algorithms, found.tags) == (("DQN", "PPO"), ("A", "b"))
    assert (found.owners, found.run_count) == (("ada", "bob"), 2)
    assert facets(RunFilter(archived=None, seen_by="ada")).env_ids == ("CartPole-v1",)


def test_a_score_is_the_best_evaluation_or_else_the_newest_mean() -> None:
    trained, judged = create(score=5.0), create()
    runs.save_progress(judged.id, Progress(best_evaluation=3.0), {"mean_reward": 7.0})

    assert (trained.score, runs.get_run(judged.id).score) == (5.0, 3.0)


def test_a_sketch_keeps_the_shape_in_a_few_points() -> None:
    lines = [{"timesteps": n, "mean_reward": float(n)} for n in range(1, 10_001)]

    drawn = sketch(lines)

    assert MOST_POINTS / 2 <= len(drawn.points) < MOST_POINTS
    assert [x for x, _ in drawn.points] == sorted(x for x, _ in drawn.points)
    assert drawn.points[-1][1] > 9_000


def test_a_sketch_goes_on_where_it_was_put_down() -> None:
    run = create()
    lines = [{"timesteps": n, "mean_reward": float(n)} for n in range(1, 201)]
    begun = Sketcher().add(lines[:120])
    runs.save_progress(run.id, Progress(timesteps=120), None, begun)

    assert runs.get_run(run.id).sketch == begun
    assert Sketcher(begun).add(lines[120:]).points[-1] == sketch(lines).points[-1]


def test_a_sketch_is_added_only_where_there_is_none() -> None:
    run = create()
    drawn = sketch([{"timesteps": 1, "mean_reward": 2.0}])

    runs.save_sketch(run.id, drawn, 8.0)
    runs.save_sketch(run.id, sketch([]), None)

    found = runs.get_run(run.id)
    assert (found.sketch, found.score) == (drawn, 8.0)
