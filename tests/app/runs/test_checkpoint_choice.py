from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.runs.execution.resume import NoGoodCheckpointError, rewind
from storage.database import runs
from storage.database.database import open_database
from storage.files.lab_folder import LabFolder
from storage.files.run_folder import RunFolder
from storage.metrics import metrics
from storage.metrics.metrics import MetricsWriter
from storage.records.runs import RunRecord

LINE = {"timesteps": 100, "vec_steps": 100, "updates": 1, "episode": 1, "elapsed_s": 0.5}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunRecord]:
    database = open_database(tmp_path / "lab.db")
    yield runs.create_run(name="A run", env_id="CartPole-v1", algorithm="PPO", config={})
    database.close()


@pytest.fixture
def folder(tmp_path: Path, run: RunRecord) -> RunFolder:
    """A run with twelve lines and checkpoints at steps 100 and 200, after four and eight."""
    folder = LabFolder(tmp_path).run(run.id)
    folder.create({})
    writer = MetricsWriter(folder.metrics)
    writer.append([LINE] * 12)
    writer.close()
    folder.save_checkpoint(b"first", {"timesteps": 100, "lines": 4}, keep=3)
    folder.save_checkpoint(b"second", {"timesteps": 200, "lines": 8}, keep=3)
    return folder


def remove_zip(checkpoint: Path) -> None:
    checkpoint.unlink()


def remove_metadata(checkpoint: Path) -> None:
    checkpoint.with_suffix(".json").unlink()


def empty_zip(checkpoint: Path) -> None:
    checkpoint.write_bytes(b"")


def truncate_zip(checkpoint: Path) -> None:
    checkpoint.write_bytes(checkpoint.read_bytes()[:3])


def empty_metadata(checkpoint: Path) -> None:
    checkpoint.with_suffix(".json").write_bytes(b"")


def replace_metadata(checkpoint: Path) -> None:
    checkpoint.with_suffix(".json").write_bytes(b'["sha256"]')


DAMAGES = [remove_zip, remove_metadata, empty_zip, truncate_zip, empty_metadata, replace_metadata]


def test_a_run_resumes_from_its_newest_checkpoint(run: RunRecord, folder: RunFolder) -> None:
    rewound = rewind(run, folder)

    assert rewound.checkpoint.timesteps == 200
    assert rewound.run.progress.timesteps == 200
    assert rewound.dropped == 4
    assert [line["n"] for line in metrics.read_lines(folder.metrics)] == list(range(1, 9))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_checkpoint_is_skipped(
    run: RunRecord, folder: RunFolder, damage: Callable[[Path], None]
) -> None:
    damage(folder.checkpoints[-1].path)

    rewound = rewind(run, folder)

    assert rewound.checkpoint.timesteps == 100
    assert rewound.dropped == 8
    assert [line["n"] for line in metrics.read_lines(folder.metrics)] == [1, 2, 3, 4]


@pytest.mark.parametrize("damage", DAMAGES)
def test_without_a_readable_checkpoint_the_metrics_are_unchanged(
    run: RunRecord, folder: RunFolder, damage: Callable[[Path], None]
) -> None:
    for checkpoint in folder.checkpoints:
        damage(checkpoint.path)

    with pytest.raises(NoGoodCheckpointError, match="None of its checkpoints can be read"):
        rewind(run, folder)

    assert len(metrics.read_lines(folder.metrics)) == 12


def test_lines_that_cannot_be_read_are_counted(run: RunRecord, folder: RunFolder) -> None:
    raw = folder.metrics.read_bytes().splitlines(keepends=True)
    folder.metrics.write_bytes(b"".join([b"\x00\n", *raw[1:], b"\xff"]))

    rewound = rewind(run, folder)

    assert rewound.unreadable == 1
    assert [line["n"] for line in rewound.lines] == list(range(2, 9))
