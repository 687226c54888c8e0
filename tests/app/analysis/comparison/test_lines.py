from math import inf

from app.analysis.comparison.lines import GroupCurve, Line, line_of_group
from storage.records.curves import Curve


def curve(*points: tuple[float, float]) -> Curve:
    return Curve(points=([x for x, _ in points], [y for _, y in points]), means=None)


def line(*curves: GroupCurve, window: tuple[float | None, float | None] = (None, None)) -> Line:
    found = line_of_group("g:one", "mean_reward", curves, window)
    assert found is not None
    return found


def test_the_last_point_has_all_seeds_that_trained_to_it() -> None:
    """The last episode of each ended at another step."""
    lasts = {98_900.0: 40.0, 99_100.0: 50.0, 99_500.0: 60.0, 99_900.0: 70.0, 99_980.0: 80.0}

    found = line(
        *(
            GroupCurve(inside=curve((500, 9), (step, score)), before=None, end=100_000)
            for step, score in lasts.items()
        )
    )

    assert (found.points[0][-1], found.points[1][-1], found.seeds[-1]) == (100_000, 60.0, 5)
    assert found.low[-1] is not None
    assert found.low[-1] < 60


def test_a_seed_that_ended_as_solved_counts_to_the_end_also_in_a_part_of_the_chart() -> None:
    solved = curve((500, 9), (20_000, 480))
    failed = [curve((500, 9), (60_000, 10), (99_900, 20)) for _ in range(2)]
    whole = line(
        GroupCurve(inside=solved, before=None, end=inf),
        *(GroupCurve(inside=one, before=None, end=100_000) for one in failed),
    )

    part = line(
        GroupCurve(inside=None, before=solved, end=inf),
        *(
            GroupCurve(inside=curve((99_900, 20)), before=curve((500, 9), (60_000, 10)), end=1e5)
            for _ in failed
        ),
        window=(70_000, None),
    )

    assert (whole.seeds[-1], whole.points[0][-1]) == (3, 100_000)
    assert whole.points[1][-1] == part.points[1][-1]
    assert (part.points[0][0], part.seeds[0]) == (70_000, 3)


def test_a_single_measured_seed_that_ended_as_solved_has_a_line() -> None:
    found = line(
        GroupCurve(inside=curve((500, 9), (20_000, 480)), before=None, end=inf),
        GroupCurve(inside=None, before=None, end=100_000),
    )

    assert (found.points[0][-1], found.points[1][-1]) == (20_000, 480)


def test_two_seeds_have_no_band() -> None:
    found = line(
        *(GroupCurve(inside=curve((1, y), (2, y + 1)), before=None, end=2) for y in (1, 5))
    )

    assert set(found.low) == set(found.high) == {None}
    assert set(found.seeds) == {2}


def test_no_measurements_make_no_line() -> None:
    empty = GroupCurve(inside=None, before=None, end=0)

    assert line_of_group("g:one", "loss", [empty, empty], (None, None)) is None
