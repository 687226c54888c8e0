"""Evaluations on disk: which videos are kept, and recovery after a crash."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from app.evaluation.evaluation import (
    Evaluation,
    EvaluationRequest,
    EvaluationStatus,
    begin_evaluation,
    end_evaluation,
    log_entry,
    summarise,
)
from app.evaluation.records import EvaluationRecords
from app.protocol import messages
from app.workers.video import RecordedVideo
from app.workers.worker import Piece
from storage.files.evaluation_files import EvaluationFiles
from storage.files.lab_folder import LabFolder

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_STEPS = messages.Replay(weighs=None, moments=())


@pytest.fixture
def folder(runs_dir: Path) -> LabFolder:
    (runs_dir / "run").mkdir(parents=True)
    return LabFolder(runs_dir)


def done(minute: int, *, pinned: bool = False) -> Evaluation:
    waiting = begin_evaluation("run", EvaluationRequest(episodes=2, record=True))
    result = messages.Evaluated(timesteps=9, returns=(1.0, 3.0), lengths=(1, 3), truncated=1)
    evaluation = end_evaluation(summarise(waiting, result), EvaluationStatus.COMPLETED)
    return replace(evaluation, created_at=_BEGAN + timedelta(minutes=minute), pinned=pinned)


def recorded_video(steps: bytes = msgspec.json.encode(_STEPS)) -> RecordedVideo:
    header = messages.VideoRecorded(frames=50, fps=25.0, width=600, height=400)
    video = RecordedVideo(header=header)
    video.take(Piece(messages.BlobHeader(name="video.mp4", last=True), b"film"))
    video.take(Piece(messages.BlobHeader(name="replay.json", last=True), steps))
    return video


def records(folder: LabFolder, *, videos_kept: int = 3) -> EvaluationRecords:
    return EvaluationRecords(folder.run("run"), videos_kept=videos_kept)


def test_an_evaluation_says_how_many_episodes_it_cut() -> None:
    waiting = begin_evaluation("run", EvaluationRequest(episodes=3))
    lengths = (100, 100, 7)
    result = messages.Evaluated(
        timesteps=9, returns=(-100.0, -100.0, -7.0), lengths=lengths, truncated=2, step_limit=100
    )

    ended = end_evaluation(summarise(waiting, result), EvaluationStatus.COMPLETED)

    assert (ended.step_limit, ended.cut) == (100, 2)
    assert "2 cut at 100 steps (the environment has no time limit)" in log_entry(ended)[1]
    assert done(0).cut_in_words is None


def on_disk(folder: LabFolder) -> list[Evaluation]:
    """Return what another server would read, newest first."""
    evaluations = records(folder).read().values()
    return sorted(evaluations, key=lambda one: one.created_at, reverse=True)


def videos(folder: LabFolder) -> set[str]:
    return {path.stem for path in (folder.path / "run" / "evaluations").glob("*.mp4")}


def test_what_is_stored_is_read_back(folder: LabFolder) -> None:
    stored_records = records(folder)

    stored = stored_records.save(done(1), recorded_video())

    assert [*stored_records.read().values()] == on_disk(folder) == [stored]
    assert stored.video is not None
    assert (stored.video.seconds, stored.video.has_steps) == (2.0, True)
    assert (stored.mean_return, stored.terminations) == (2.0, {"terminated": 1, "truncated": 1})


def test_the_newest_videos_and_the_pinned_ones_are_kept(folder: LabFolder) -> None:
    stored_records = records(folder, videos_kept=2)

    first, *others = (
        stored_records.save(done(n, pinned=n == 0), recorded_video()) for n in range(5)
    )

    assert videos(folder) == {first.id, *(one.id for one in others[-2:])}
    listed = on_disk(folder)
    assert stored_records.read() == {one.id: one for one in listed}
    assert [one.id for one in listed] == [one.id for one in [*others[::-1], first]]
    assert [one.has_video for one in listed] == [True, True, False, False, True]
    assert not list((folder.path / "run" / "evaluations").glob("*.part"))

    stored_records.pin(first.id, on=False)

    assert videos(folder) == {one.id for one in others[-2:]}
    assert stored_records.read() == {one.id: one for one in on_disk(folder)}


def test_a_video_that_can_not_be_removed_does_not_prevent_further_ones(
    folder: LabFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_records = records(folder, videos_kept=1)
    first = stored_records.save(done(1), recorded_video())
    with monkeypatch.context() as broken:
        broken.setattr(EvaluationFiles, "remove_video", _refuse(first.id))
        second = stored_records.save(done(2), recorded_video())
    assert videos(folder) == {first.id, second.id}

    third = stored_records.save(done(3), recorded_video())

    assert videos(folder) == {third.id}


def _refuse(evaluation_id: str) -> Callable[[EvaluationFiles, str], None]:
    remove = EvaluationFiles.remove_video

    def refuse(files: EvaluationFiles, removed: str) -> None:
        if removed == evaluation_id:
            raise PermissionError(13, "Permission denied")
        remove(files, removed)

    return refuse


def test_pending_evaluations_of_an_earlier_server_fail(folder: LabFolder) -> None:
    stored_records = records(folder)
    left = begin_evaluation("run", EvaluationRequest(episodes=2))
    stored_records.save(left)
    stored_records.files.save_video(left.id, b"half")
    assert on_disk(folder) == []

    records(folder).fail_pending("The server ended.")

    (failed,) = on_disk(folder)
    assert (failed.id, failed.status, failed.error) == (left.id, "failed", "The server ended.")
    assert {path.name for path in (folder.path / "run" / "evaluations").iterdir()} == {
        f"{left.id}.json"
    }


def test_an_evaluation_that_ended_before_the_server_was_killed_is_unchanged(
    folder: LabFolder,
) -> None:
    stored = records(folder).save(done(1), recorded_video())
    pending = folder.path / "run" / "evaluations" / f"{stored.id}.pending"
    pending.write_bytes(msgspec.json.encode(replace(stored, status=EvaluationStatus.RUNNING)))

    records(folder).fail_pending("The server ended.")

    assert on_disk(folder) == [stored]
    assert videos(folder) == {stored.id}
    assert not pending.exists()


def test_a_late_write_does_not_undo_an_end(folder: LabFolder) -> None:
    stored_records, ended = records(folder), done(1)
    stored_records.save(ended)

    stored_records.save(replace(ended, status=EvaluationStatus.RUNNING))

    assert [path.name for path in (folder.path / "run" / "evaluations").iterdir()] == [
        f"{ended.id}.json"
    ]


def test_partial_files_of_a_killed_server_are_removed_at_start(
    folder: LabFolder,
) -> None:
    evaluations = folder.path / "run" / "evaluations"
    records(folder).save(done(1), recorded_video())
    whole = set(evaluations.iterdir())
    (evaluations / ".0123.pending.77267b67.part").write_bytes(b"{")
    (folder.path / "run" / ".policy.pt.01234567.part").write_bytes(b"half")

    records(folder).fail_pending("The server ended.")

    assert set(evaluations.iterdir()) == whole
    assert list((folder.path / "run").iterdir()) == [evaluations]


def test_an_unreadable_record_is_skipped(folder: LabFolder) -> None:
    stored = records(folder).save(done(1), recorded_video())
    evaluations = folder.path / "run" / "evaluations"
    for suffix in ("json", "pending"):
        (evaluations / f"broken.{suffix}").write_text("{")
        (evaluations / f"folder.{suffix}").mkdir()
    (evaluations / "nowhere.json").symlink_to("nothing")

    stored_records = records(folder)
    stored_records.fail_pending("The server ended.")

    assert stored_records.read() == {stored.id: stored}


def test_an_invalid_replay_is_not_stored(folder: LabFolder) -> None:
    video = recorded_video(b'{"weighs": "<script>", "moments": []}')

    assert video.checked_replay() == b""
