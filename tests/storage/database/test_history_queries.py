from typing import Any

import pytest
from peewee import Database

from storage.database import runs
from storage.database.history import facets, history_page
from storage.database.sketches import MAX_POINTS, Sketcher, sketch
from storage.records.history import SORTABLE
from storage.records.runs import Progress, RunFilter, RunRecord, ScoreKind
from tests.storage.queries import queries_of

pytestmark = pytest.mark.usefixtures("database")


def create(name: str = "a run", *, score: float | None = None, **values: Any) -> RunRecord:
    wanted = {"env_id": "CartPole-v1", "algorithm": "PPO", **values}
    run = runs.create_run(name=name, config={"total_timesteps": 100}, **wanted)
    if score is not None:
        runs.save_progress(run.id, Progress(timesteps=10), {"mean_reward": score})
    return runs.get_run(run.id)


def names(wanted: RunFilter = RunFilter(), **how: Any) -> list[str]:  # noqa: B008 - frozen
    return [entry[0].name for entry in history_page(wanted, **how).entries]


def test_the_seeds_of_a_group_are_one_entry_in_order_of_creation() -> None:
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

    with queries_of(database) as queries:
        page = history_page(RunFilter(), sort="-score", per_page=10)
        facets(RunFilter(archived=None))

    assert len(page.entries) == 10
    assert len(queries) == 3


def test_pages_have_no_gap_or_overlap_in_every_order() -> None:
    for i in range(7):
        create(f"run {i % 2}", score=i / 2 if i % 3 else None, group_id="g" if i > 4 else None)

    for sort in SORTABLE:
        for order in (sort, f"-{sort}"):
            pages = [history_page(RunFilter(), sort=order, number=n, per_page=2) for n in (1, 2, 3)]
            seen = [run.id for page in pages for entry in page.entries for run in entry]
            assert len(seen) == len(set(seen)) == 7, order


def test_a_page_beyond_the_end_is_the_last_page() -> None:
    for i in range(3):
        create(f"run {i}")

    page = history_page(RunFilter(), number=9, per_page=2)

    assert (page.number, page.first, page.last) == (2, 3, 3)
    assert history_page(RunFilter(text="nothing"), number=9).entries == ()


def test_runs_without_a_score_come_last_in_both_directions() -> None:
    create("best", score=9.0)
    create("worst", score=1.0)
    create("unmeasured")

    assert names(sort="-score") == ["best", "worst", "unmeasured"]
    assert names(sort="score") == ["worst", "best", "unmeasured"]


def test_a_group_is_sorted_by_its_interquartile_mean() -> None:
    for i, score in enumerate([0.0, 50.0, 50.0, 1_000.0]):
        create(f"seed {i}", score=score, group_id="g")
    create("better", score=51.0)
    create("worse", score=49.0)

    assert names(sort="-score") == ["better", "seed 0", "worse"]


def test_names_are_sorted_ignoring_case() -> None:
    for name in ("beta", "Alpha", "Gamma"):
        create(name)

    assert names(sort="name") == ["Alpha", "beta", "Gamma"]


def test_a_run_is_found_by_a_tag_or_a_note() -> None:
    create("tagged", tags=["baseline"])
    noted = create("noted")
    create("neither")
    runs.change_run(noted.id, notes="Try a smaller baseline network.")

    assert set(names(RunFilter(text="baseline"))) == {"tagged", "noted"}


def test_facets_list_existing_values_without_hidden_runs() -> None:
    create(tags=["b", "A"], owner="ada")
    create(env_id="Acrobot-v1", algorithm="DQN", owner="bob")
    runs.hide_run(create(env_id="Taxi-v4").id)

    listed = facets(RunFilter(archived=None))

    assert listed.env_ids == ("Acrobot-v1", "CartPole-v1")
    assert (listed.algorithms, listed.tags) == (("DQN", "PPO"), ("A", "b"))
    assert (listed.owners, listed.run_count) == (("ada", "bob"), 2)
    assert facets(RunFilter(archived=None, seen_by="ada")).env_ids == ("CartPole-v1",)


def test_runs_are_sorted_by_the_scores_that_they_show() -> None:
    trained, evaluated, final = create(score=5.0), create(), create()
    progress = Progress(timesteps=9, best_evaluation=99.0, last_evaluation=3.0)
    for run in (evaluated, final):
        runs.save_progress(run.id, progress, {"mean_reward": 7.0})
    runs.save_final_evaluation(final.id, 4.0, 9)

    found = history_page(RunFilter(archived=None), sort="-score")

    shown = [(entry[0].id, entry[0].score) for entry in found.entries]
    assert shown == [(trained.id, 5.0), (final.id, 4.0), (evaluated.id, 3.0)]
    assert runs.get_run(final.id).score_kind is ScoreKind.FINAL_EVALUATION


def test_a_sketch_keeps_the_shape_of_a_curve_in_a_few_points() -> None:
    lines = [{"timesteps": n, "mean_reward": float(n)} for n in range(1, 10_001)]

    result = sketch(lines)

    assert MAX_POINTS / 2 <= len(result.points) < MAX_POINTS
    assert [x for x, _ in result.points] == sorted(x for x, _ in result.points)
    assert result.points[-1][1] > 9_000


def test_a_stored_sketch_can_be_continued() -> None:
    run = create()
    lines = [{"timesteps": n, "mean_reward": float(n)} for n in range(1, 201)]
    stored = Sketcher().add(lines[:120])
    runs.save_progress(run.id, Progress(timesteps=120), None, stored)

    assert runs.get_run(run.id).sketch == stored
    assert Sketcher(stored).add(lines[120:]).points[-1] == sketch(lines).points[-1]


def test_a_stored_sketch_is_not_overwritten() -> None:
    run = create()
    first = sketch([{"timesteps": 1, "mean_reward": 2.0}])

    runs.save_sketch(run.id, first, 8.0)
    runs.save_sketch(run.id, sketch([]), None)

    stored = runs.get_run(run.id)
    assert (stored.sketch, stored.score) == (first, 8.0)
