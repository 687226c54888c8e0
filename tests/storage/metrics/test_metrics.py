import resource
import signal
from pathlib import Path

import msgspec
import pytest

from storage.metrics import metrics
from storage.metrics.metrics import MetricsWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def write(path: Path, count: int) -> None:
    writer = MetricsWriter(path)
    writer.append({"timesteps": i * 10, "reward": float(i)} for i in range(1, count + 1))
    writer.close()


def numbers(raw: list[msgspec.Raw]) -> list[int]:
    return [msgspec.json.decode(line)["n"] for line in raw]


def test_lines_are_numbered_without_gaps_across_writers(path: Path) -> None:
    write(path, 3)
    write(path, 2)

    assert [line["n"] for line in metrics.read_lines(path)] == [1, 2, 3, 4, 5]


def test_a_reader_sees_lines_while_they_are_being_written(path: Path) -> None:
    writer = MetricsWriter(path)
    writer.append([{"reward": 1.0}])

    assert metrics.read_lines(path) == [{"n": 1, "reward": 1.0}]
    writer.close()


def test_lines_are_read_after_a_given_number(path: Path) -> None:
    write(path, 10)

    reader = metrics.LineReader(path, after=6)

    assert numbers(reader.read(2)) == [7, 8]
    assert numbers(reader.read(9)) == [9, 10]
    assert reader.read(9) == []


def test_the_last_lines_are_read_from_the_end_of_a_large_file(path: Path) -> None:
    write(path, 5_000)

    tail = metrics.tail_lines(path, 3)

    assert [line["n"] for line in tail] == [4_998, 4_999, 5_000]
    assert len(metrics.tail_lines(path, 10_000)) == 5_000


def test_an_unfinished_last_line_is_ignored(path: Path) -> None:
    write(path, 2)
    with path.open("ab") as file:
        file.write(b'{"n":3,"rew')

    assert [line["n"] for line in metrics.read_lines(path)] == [1, 2]
    assert [line["n"] for line in metrics.tail_lines(path, 5)] == [1, 2]


def test_a_writer_removes_an_unfinished_line_of_a_crash(path: Path) -> None:
    write(path, 2)
    with path.open("ab") as file:
        file.write(b'{"n":3,"rew')

    write(path, 1)

    assert [line["n"] for line in metrics.read_lines(path)] == [1, 2, 3]


def test_a_file_with_only_an_unfinished_line_counts_as_empty(path: Path) -> None:
    path.write_bytes(b'{"n":1,"rew')

    write(path, 1)

    assert [line["n"] for line in metrics.read_lines(path)] == [1]


def test_a_missing_file_has_no_lines(path: Path) -> None:
    assert metrics.read_lines(path) == []
    assert metrics.tail_lines(path, 5) == []
    assert metrics.last_number(path) == 0


def test_downsampling_keeps_the_ends_and_peaks(path: Path) -> None:
    lines = [{"n": i, "timesteps": i, "reward": 0.0} for i in range(1, 1_001)]
    lines[500]["reward"] = 99.0

    downsampled = metrics.downsample(lines, max_points=20)

    assert len(downsampled) <= 20
    assert downsampled[0]["n"] == 1
    assert downsampled[-1]["n"] == 1_000
    assert max(line["reward"] for line in downsampled) == 99.0


@pytest.mark.parametrize("max_points", [3, 4, 5, 20, 21])
def test_downsampling_keeps_to_its_limit(max_points: int) -> None:
    lines = [{"n": i, "timesteps": i, "reward": float(-i % 7)} for i in range(1, 1_001)]

    kept = metrics.downsample(lines, max_points=max_points)

    assert [kept[0]["n"], kept[-1]["n"]] == [1, 1_000]
    assert 2 <= len(kept) <= max_points


def test_even_three_points_show_a_peak() -> None:
    lines = [{"n": i, "timesteps": i, "reward": float(i == 500)} for i in range(1, 1_001)]

    kept = metrics.downsample(lines, max_points=3)

    assert [line["n"] for line in kept] == [1, 500, 1_000]


def test_each_metric_is_downsampled_separately(path: Path) -> None:
    lines = [{"n": i, "timesteps": i, "reward": float(i)} for i in range(1, 101)]
    lines += [{"n": 101, "timesteps": 101, "loss": 0.5}]

    downsampled = metrics.downsample(lines, max_points=10)

    assert sum("reward" in line for line in downsampled) <= 10
    assert [line["loss"] for line in downsampled if "loss" in line] == [0.5]


def test_selecting_metrics_drops_lines_without_them() -> None:
    lines = [{"n": 1, "reward": 1.0, "fps": 9}, {"n": 2, "loss": 0.1}]

    assert metrics.pick(lines, ["reward"]) == [{"n": 1, "reward": 1.0}]


@pytest.mark.parametrize(
    "rest",
    [b'{"reward":1.0,"n', b'{"reward":1.0,"n\n', b"\x00\xff\xfe\n\x80", b"[1]\n7\n\n{}\n"],
    ids=["half a line", "half a line with its end", "garbage", "JSON that is no line"],
)
def test_an_unreadable_end_is_ignored_and_removed_by_the_next_writer(
    path: Path, rest: bytes
) -> None:
    write(path, 5)
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(rest)

    assert [line["n"] for line in metrics.read_lines(path)] == [1, 2, 3, 4, 5]
    assert numbers(metrics.LineReader(path, after=3).read(9)) == [4, 5]
    assert metrics.last_number(path) == 5
    write(path, 1)
    assert path.read_bytes().startswith(whole + b'{"timesteps"')
    assert [line["n"] for line in metrics.read_lines(path)] == [1, 2, 3, 4, 5, 6]


def test_an_unreadable_line_in_the_middle_is_skipped(path: Path) -> None:
    write(path, 6)
    raw = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([raw[0], b"\x00\n\xff", *raw[2:]]))

    assert [line["n"] for line in metrics.read_lines(path)] == [1, 4, 5, 6]
    assert [line["n"] for line in metrics.tail_lines(path, 5)] == [4, 5, 6]
    assert numbers(metrics.LineReader(path, after=4).read(9)) == [5, 6]
    assert metrics.count_unreadable(path) == 2
    assert metrics.cut_back(path, 5) == 1
    write(path, 1)
    assert [line["n"] for line in metrics.read_lines(path)] == [1, 4, 5, 6]


def test_a_failed_write_leaves_no_partial_line(path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writer = MetricsWriter(path)
    writer.append([{"reward": 1.0}])
    whole = path.read_bytes()

    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 30, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            writer.append({"reward": float(i)} for i in range(10))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)

    assert path.read_bytes() == whole
    assert [line["n"] for line in writer.append([{"reward": 2.0}])] == [2]
    writer.close()
    assert [line["n"] for line in metrics.read_lines(path)] == [1, 2]
