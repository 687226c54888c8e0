from pathlib import Path

import pytest

from storage.errors import RunsFolderInUseError, RunsFolderNotWritableError
from storage.files.atomic import is_own_file, write_atomically
from storage.files.lab_folder import LabFolder


def test_a_runs_folder_has_one_owner(tmp_path: Path) -> None:
    claim = LabFolder(tmp_path).claim()

    with pytest.raises(RunsFolderInUseError, match="in use by another server"):
        LabFolder(tmp_path).claim()

    claim.close()
    LabFolder(tmp_path).claim().close()


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")

    with pytest.raises(RunsFolderNotWritableError, match="can't be written"):
        LabFolder(tmp_path / "file" / "runs").claim()


def test_links_to_other_places_are_not_files_of_a_run(tmp_path: Path) -> None:
    folder = LabFolder(tmp_path / "runs").run("abc")
    folder.create({"seed": 1})
    (tmp_path / "secret").write_text("not for everybody")
    folder.config.unlink()
    folder.config.symlink_to(tmp_path / "secret")
    evaluations = folder.evaluations_path
    evaluations.mkdir()
    (evaluations / "1.mp4").symlink_to(tmp_path / "secret")

    assert folder.artifacts() == {}
    assert folder.portable() == []
    assert not is_own_file(evaluations / "1.mp4")


def test_only_files_that_exist_are_artifacts(tmp_path: Path) -> None:
    folder = LabFolder(tmp_path).run("abc")
    folder.create({"seed": 1})

    assert list(folder.artifacts()) == ["config.json"]

    folder.model.write_bytes(b"zip")

    assert list(folder.artifacts()) == ["model.zip", "config.json"]


def test_a_run_is_moved_to_the_trash_and_restored(tmp_path: Path) -> None:
    runs = LabFolder(tmp_path)
    runs.run("abc").create({"seed": 1})

    runs.move_to_trash("abc")
    assert not runs.run("abc").path.exists()

    runs.restore_from_trash("abc")
    assert runs.run("abc").config.is_file()


def test_a_failed_atomic_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.zip"
    write_atomically(path, b"old")

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("storage.files.atomic.os.fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
