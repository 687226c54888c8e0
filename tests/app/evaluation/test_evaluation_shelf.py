"""Evaluations on disk: which videos stay, and what a crash leaves."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from app.evaluation.evaluation import (
    Evaluation,
    EvaluationOptions,
    EvaluationStatus,
    begin_evaluation,
    end_evaluation,
    summarise,
)
from app.evaluation.shelf import EvaluationShelf
from app.protocol import messages
from app.workers.local_worker import Piece
from app.workers.video import Filmed
from storage.files.lab_folder import LabFolder

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_STEPS = messages.Replay(weighs=None, moments=())


@pytest.fixture
def folder(runs_dir: Path) -> LabFolder:
    (runs_dir / "run").mkdir(parents=True)
    return LabFolder(runs_dir)


def done(minute: int, *, pinned: bool = False) -> Evaluation:
    waiting = begin_evaluation("run", EvaluationOptions(episodes=2, record=True))
    said = messages.Evaluated(timesteps=9, returns=(1.0, 3.0), lengths=(1, 3), truncated=1)
    found = end_evaluation(summarise(waiting, said), EvaluationStatus.COMPLETED)
    return replace(found, created_at=_BEGAN + timedelta(minutes=minute), pinned=pinned)


def filmed(steps: bytes = msgspec.json.encode(_STEPS)) -> Filmed:
    said = messages.Filmed(pictures=50, fps=25.0, width=600, height=400)
    found = Filmed(said=said)
    found.take(Piece(messages.BlobHeader(name="video.mp4", last=True), b"film"))
    found.take(Piece(messages.BlobHeader(name="replay.json", last=True), steps))
    return found


def store(shelf: EvaluationShelf, evaluation: Evaluation) -> Evaluation:
    film = filmed()
    assert film.video is not None
    return shelf.save_with_video(evaluation, film, film.video)


def videos(folder: LabFolder) -> set[str]:
    return {path.stem for path in (folder.path / "run" / "evaluations").glob("*.mp4")}


def test_what_is_stored_is_read_back(folder: LabFolder) -> None:
    shelf = EvaluationShelf(folder, videos_kept=3)

    stored = store(shelf, done(1))

    assert shelf.load_all("run") == [stored]
    assert stored.video is not None
    assert (stored.video.seconds, stored.video.has_steps) == (2.0, True)
    assert (stored.mean_return, stored.terminations) == (2.0, {"terminated": 1, "truncated": 1})


def test_the_newest_videos_and_the_pinned_ones_stay(folder: LabFolder) -> None:
    shelf = EvaluationShelf(folder, videos_kept=2)

    first, *others = (store(shelf, done(n, pinned=n == 0)) for n in range(5))

    assert videos(folder) == {first.id, *(one.id for one in others[-2:])}
    listed = shelf.load_all("run")
    assert [one.id for one in listed] == [one.id for one in [*others[::-1], first]]
    assert [one.has_video for one in listed] == [True, True, False, False, True]
    assert not list((folder.path / "run" / "evaluations").glob("*.part"))

    shelf.pin(listed[-1], on=False)

    assert videos(folder) == {one.id for one in others[-2:]}


def test_what_an_earlier_server_left_has_failed(folder: LabFolder) -> None:
    shelf = EvaluationShelf(folder, videos_kept=3)
    left = begin_evaluation("run", EvaluationOptions(episodes=2))
    shelf.save(left)
    shelf.files("run").save_video(left.id, b"half")
    assert shelf.load_all("run") == []

    shelf.end_what_was_under_way("The server ended.")

    (found,) = shelf.load_all("run")
    assert (found.id, found.status, found.error) == (left.id, "failed", "The server ended.")
    assert {path.name for path in (folder.path / "run" / "evaluations").iterdir()} == {
        f"{left.id}.json"
    }


def test_what_was_being_written_when_a_server_was_killed_is_gone_after_a_start(
    folder: LabFolder,
) -> None:
    shelf, evaluations = EvaluationShelf(folder, videos_kept=3), folder.path / "run" / "evaluations"
    store(shelf, done(1))
    whole = set(evaluations.iterdir())
    (evaluations / ".0123.pending.77267b67.part").write_bytes(b"{")
    (folder.path / "run" / ".policy.pt.01234567.part").write_bytes(b"half")

    shelf.end_what_was_under_way("The server ended.")

    assert set(evaluations.iterdir()) == whole
    assert list((folder.path / "run").iterdir()) == [evaluations]


def test_a_record_that_can_not_be_read_is_left_out(folder: LabFolder) -> None:
    shelf = EvaluationShelf(folder, videos_kept=3)
    stored = store(shelf, done(1))
    (folder.path / "run" / "evaluations" / "broken.json").write_text("{")

    assert shelf.load_all("run") == [stored]


def test_steps_that_are_no_steps_are_not_stored(folder: LabFolder) -> None:
    film = filmed(b'{"weighs": "<script>", "moments": []}')

    assert film.checked_replay() == b""
