from pathlib import Path
from typing import Any

import msgspec
import pytest

from storage.metrics.curves import CurveCache, RunCurves
from storage.metrics.metrics import MetricsWriter, cut_back
from storage.records.curves import View


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def write(path: Path, count: int, *, first: int = 1, **more: Any) -> None:
    writer = MetricsWriter(path)
    writer.append(
        {
            "t": "2026-01-01T00:00:00.000Z",
            "timesteps": 10 * i,
            "vec_steps": 5 * i,
            "updates": i // 100,
            "episode": i,
            "elapsed_s": i / 100,
            "reward": float(i % 1_000),
            **({"loss": i / 7} if i % 100 == 0 else {}),
            **more,
        }
        for i in range(first, first + count)
    )
    writer.close()


def test_few_values_are_returned_completely(path: Path) -> None:
    write(path, 1_200)

    curves = RunCurves(path).read(View(names=("reward", "loss", "nothing")))

    assert set(curves.by_name) == {"reward", "loss"}
    reward = curves.by_name["reward"]
    assert reward.means is None
    assert list(reward.points[0]) == [10.0 * i for i in range(1, 1_201)]
    assert list(reward.points[1]) == [float(i % 1_000) for i in range(1, 1_201)]
    assert len(curves.by_name["loss"].points[0]) == 12
    assert (curves.last_line, curves.extent) == (1_200, (10.0, 12_000.0))


def test_reward_terms_are_curves_like_others(path: Path) -> None:
    write(path, 20, terms={"alive": 1.0, "up.right": -2.5})

    curves = RunCurves(path).read(View(names=("terms/",)))

    assert set(curves.by_name) == {"terms/alive", "terms/up.right"}
    assert set(curves.by_name["terms/up.right"].points[1]) == {-2.5}


def test_many_values_keep_their_extremes_and_means(path: Path) -> None:
    write(path, 50_000)

    curve = RunCurves(path).read(View(names=("reward",), max_points=500)).by_name["reward"]

    assert len(curve.points[0]) <= 500
    assert (min(curve.points[1]), max(curve.points[1])) == (0.0, 999.0)
    assert curve.means is not None
    assert sum(curve.means[1]) / len(curve.means[1]) == pytest.approx(499.5, abs=2)


def test_a_single_peak_is_never_lost(path: Path) -> None:
    write(path, 30_000)
    writer = MetricsWriter(path)
    writer.append([{"timesteps": 300_001, "episode": 30_001, "reward": 1e6}])
    writer.close()
    write(path, 30_000, first=30_002)

    curve = RunCurves(path).read(View(names=("reward",), max_points=100)).by_name["reward"]

    assert max(curve.points[1]) == 1e6


@pytest.mark.parametrize(
    ("axis", "start", "end", "first", "last"),
    [
        ("timesteps", 300_000, 301_000, 30_000, 30_100),
        ("vec_steps", 150_000, 150_500, 30_000, 30_100),
        ("episode", 30_000, 30_100, 30_000, 30_100),
        ("elapsed_s", 300, 301, 30_000, 30_100),
    ],
)
def test_a_narrow_range_contains_every_value(
    path: Path, axis: str, start: float, end: float, first: int, last: int
) -> None:
    write(path, 60_000)
    curves = RunCurves(path)
    view = View(names=("reward",), axis=axis, start=start, end=end)

    curve = curves.read(view).by_name["reward"]

    assert curve.means is None
    exact = dict(zip(*curve.points, strict=True))
    per_line = {"timesteps": 10, "vec_steps": 5, "episode": 1, "elapsed_s": 0.01}[axis]
    for i in range(first, last + 1):
        assert exact[round(i * per_line, 2)] == float(i % 1_000)


def test_only_new_lines_are_read(path: Path) -> None:
    write(path, 20_000)
    curves = RunCurves(path)
    curves.read(View(names=("reward",)))
    content = path.read_bytes()
    # Reading from the start again would fail on this line.
    path.write_bytes(b"#" * 1_000 + content[1_000:])

    write(path, 10, first=20_001)
    curves_after = curves.read(View(names=("reward",), max_points=1_000))

    assert curves_after.last_line == 20_010
    assert max(curves_after.by_name["reward"].points[0]) == 200_100
    assert min(curves_after.by_name["reward"].points[0]) == 10


def test_dropped_lines_are_removed_from_the_curves(path: Path) -> None:
    write(path, 1_000)
    curves = RunCurves(path)
    curves.read(View(names=("reward",)))

    cut_back(path, 500)
    write(path, 700, first=501, reward=-1.0)
    curve = curves.read(View(names=("reward",))).by_name["reward"]

    assert len(curve.points[1]) == 1_200
    assert set(curve.points[1][500:]) == {-1.0}


def test_the_memory_does_not_grow_with_the_file(path: Path) -> None:
    def memory(count: int) -> int:
        write(path, count, first=1 if not path.exists() else 40_001)
        curves = RunCurves(path)
        curves.read(View(names=()))
        return sum(column.nbytes for column in curves._buckets._columns.values())

    assert memory(40_000) >= memory(40_000)


def test_unreadable_lines_are_skipped(path: Path) -> None:
    write(path, 5)
    with path.open("ab") as file:
        file.write(
            b'broken\n[1]\n{"n":"x"}\n{"timesteps":60,"episode":6,"reward":7.0,"n":6}\n{"n":7,'
        )

    curves = RunCurves(path).read(View(names=("reward",)))

    assert curves.last_line == 6
    assert list(curves.by_name["reward"].points[1])[-1] == 7.0


def test_values_that_are_not_numbers_are_skipped(path: Path) -> None:
    with path.open("ab") as file:
        for n, value in enumerate((None, "text", {"a": 1}, [1, 2]), start=1):
            line = {"n": n, "timesteps": n, "episode": n, "reward": value, "loss": 1.0}
            file.write(msgspec.json.encode(line) + b"\n")

    curves = RunCurves(path).read(View(names=("reward", "loss")))

    assert set(curves.by_name) == {"loss"}
    assert len(curves.by_name["loss"].points[0]) == 4


def test_an_evaluation_is_placed_at_the_step_of_its_policy(path: Path) -> None:
    write(path, 1, eval_reward=5.0, eval_timesteps=4)

    over_steps = RunCurves(path).read(View(names=("eval_reward",)))
    over_episodes = RunCurves(path).read(View(names=("eval_reward",), axis="episode"))

    assert over_steps.by_name["eval_reward"].points == ([4.0], [5.0])
    assert over_episodes.by_name["eval_reward"].points == ([1.0], [5.0])


def test_a_prefix_selects_all_metrics_of_a_kind_and_marks_are_converted_to_the_axis(
    path: Path,
) -> None:
    write(path, 100, **{"action_share/0": 0.25, "action_share/1": 0.75})

    curves = RunCurves(path).read(
        View(names=("action_share/",), axis="elapsed_s", mark_steps=(500,))
    )

    assert list(curves.by_name) == ["action_share/0", "action_share/1"]
    assert curves.marks == [0.5]


def test_a_missing_file_has_no_curves(path: Path) -> None:
    curves = CurveCache().read(path, View(names=("reward",), start=5, end=6))

    assert (dict(curves.by_name), curves.last_line) == ({}, 0)
