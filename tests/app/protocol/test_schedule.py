from collections.abc import Iterator

import pytest

from app.catalog.algorithms.catalogue import get_algorithm
from app.core.errors import InputError
from app.protocol.schedule import Schedule, read_schedule
from app.worker.models.schedules import PiecewiseLinear


def at(schedule: Schedule, progress: float) -> float:
    """Return the value at a progress; Stable-Baselines3 passes the remaining progress."""
    return PiecewiseLinear(schedule.points)(1.0 - progress)


def test_a_schedule_falls_linearly_from_start_to_end() -> None:
    schedule = read_schedule("1e-3 -> 0")

    assert schedule is not None
    assert [at(schedule, progress) for progress in (0.0, 0.25, 1.0)] == [1e-3, 0.75e-3, 0.0]


def test_a_schedule_can_be_constant_before_it_falls() -> None:
    schedule = read_schedule({"start": 1.0, "end": 0.0, "from": 0.5})

    assert schedule is not None
    assert [at(schedule, progress) for progress in (0.0, 0.5, 0.75, 1.0)] == [1.0, 1.0, 0.5, 0.0]


def test_points_are_interpolated_linearly_and_constant_beyond_the_ends() -> None:
    schedule = read_schedule("0.2: 1.0, 0.6: 0.5")

    assert schedule is not None
    values = [at(schedule, progress) for progress in (0.0, 0.2, 0.4, 0.6, 1.0)]
    assert values == pytest.approx([1.0, 1.0, 0.75, 0.5, 0.5])


@pytest.mark.parametrize("text", ["0.001 -> 0", "0: 0.001, 0.5: 0.0005, 1: 0.0001"])
def test_a_schedule_survives_reading_and_writing(text: str) -> None:
    assert str(read_schedule(text)) == text


@pytest.mark.parametrize(
    "given",
    [
        "fast",
        "",
        "1 ->",
        "0: 1, 0: 2",
        "0.5: 1, 0.2: 1",
        "0: 1, 2: 1",
        {"points": []},
        {"points": [[0]]},
        {"points": "no"},
        {"points": [[0, True]]},
        {"points": [[i / 50, 1.0] for i in range(50)]},
        {"start": 1},
        {"start": 1, "end": 0, "from": 2},
        {"start": "1", "end": 0},
        {"start": 1, "end": 0, "then": 1},
        {"start": 10**400, "end": 0},
        {"points": [[0, float("inf")]]},
        "1_0e-5 -> 0",
        "nan -> 0",
        {},
        5,
        None,
    ],
)
def test_an_invalid_schedule_is_read_as_none(given: object) -> None:
    assert read_schedule(given) is None


class Unparsed(str):
    """A text that fails if it is parsed."""

    def split(self, *_: object) -> list[str]:  # type: ignore[override]
        raise AssertionError(self[:20])

    def partition(self, _: str) -> tuple[str, str, str]:
        raise AssertionError(self[:20])


class UnreadPoint:
    """A point that fails if it is read."""

    def __iter__(self) -> Iterator[float]:
        raise AssertionError


@pytest.mark.parametrize(
    "given",
    [{"points": [UnreadPoint()] * 21}, Unparsed("0:1," * 1_000), Unparsed(f"{'1' * 50_000} -> 0")],
    ids=["points", "typed points", "a typed start"],
)
def test_input_that_is_far_too_long_is_rejected_without_parsing(given: object) -> None:
    assert read_schedule(given) is None


def test_every_point_of_a_schedule_must_be_within_bounds() -> None:
    ppo = get_algorithm("PPO")

    whole = ppo.complete({"learning_rate": {"start": 1e-3, "end": 0}})
    with pytest.raises(InputError, match="at every point") as refused:
        ppo.complete({"learning_rate": "0.001 -> 7"})

    assert whole["learning_rate"] == Schedule(((0.0, 1e-3), (1.0, 0.0)))
    assert refused.value.field == "hyperparameters.learning_rate"


def test_only_what_sb3_takes_as_a_function_can_be_scheduled() -> None:
    schedulable = {
        (spec, parameter.name)
        for spec in ("PPO", "DQN", "ARS", "SAC")
        for parameter in get_algorithm(spec).hyperparameters
        if parameter.schedulable
    }

    assert schedulable == {
        ("PPO", "learning_rate"),
        ("PPO", "clip_range"),
        ("PPO", "clip_range_vf"),
        ("DQN", "learning_rate"),
        ("ARS", "learning_rate"),
        ("ARS", "delta_std"),
        ("SAC", "learning_rate"),
    }
    with pytest.raises(InputError, match="gamma must be a number"):
        get_algorithm("PPO").complete({"gamma": "0.9 -> 0.99"})


def test_a_schedule_of_nothing_but_zero_is_refused() -> None:
    with pytest.raises(InputError, match="0 all the time"):
        get_algorithm("PPO").complete({"learning_rate": "0 -> 0"})
