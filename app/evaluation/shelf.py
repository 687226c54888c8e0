"""The evaluations of runs on disk; every call reads or writes files and belongs on a thread."""

import logging
from collections.abc import Iterable
from dataclasses import asdict, replace

import msgspec

from app.evaluation.evaluation import Evaluation, EvaluationStatus, end_evaluation
from app.workers.video import Filmed, Video
from storage.files.evaluation_files import EvaluationFiles, folders_with_evaluations_under_way
from storage.files.lab_folder import LabFolder
from storage.files.run_folder import RunFolder

_log = logging.getLogger(__name__)

_RECORDS = msgspec.json.Decoder(Evaluation)


class EvaluationShelf:
    """Keeps the record of every evaluation, and the videos of the newest and the pinned ones."""

    def __init__(self, folder: LabFolder, *, videos_kept: int) -> None:
        self._folder = folder
        self._videos_kept = videos_kept

    def files(self, run_id: str) -> EvaluationFiles:
        """Return the files of a run, whose id came from the database."""
        return EvaluationFiles(self._folder.run(run_id).evaluations_path)

    def load_all(self, run_id: str) -> list[Evaluation]:
        """Return the evaluations of a run that are over, newest first."""
        found = (_decode(content) for content in self.files(run_id).load_all())
        return newest_first(one for one in found if one is not None)

    def save(self, evaluation: Evaluation) -> None:
        """Store how an evaluation stands."""
        files = self.files(evaluation.run_id)
        files.save(evaluation.id, asdict(evaluation), is_over=evaluation.status.is_over)

    def save_with_video(self, evaluation: Evaluation, filmed: Filmed, video: Video) -> Evaluation:
        """Store an evaluation that is over, with its video if there is room for it."""
        files, steps = self.files(evaluation.run_id), filmed.checked_replay()
        try:
            files.save_video(evaluation.id, filmed.content)
            if steps:
                files.save_replay(evaluation.id, steps)
        except OSError as error:
            note = f"The video could not be stored ({error.strerror or type(error).__name__})."
            evaluation = replace(evaluation, video_note=note)
            files.remove_video(evaluation.id)
        else:
            evaluation = replace(evaluation, video=replace(video, has_steps=bool(steps)))
        self.save(evaluation)
        self._remove_old_videos(evaluation.run_id)
        return evaluation

    def save_without_video(self, evaluation: Evaluation) -> None:
        """Store an evaluation that didn't get to its end; nothing else of it stays."""
        self.files(evaluation.run_id).remove_video(evaluation.id)
        self.save(evaluation)

    def pin(self, evaluation: Evaluation, *, on: bool) -> Evaluation:
        """Keep a video for good, or let newer ones take its place."""
        evaluation = replace(evaluation, pinned=on)
        self.save(evaluation)
        self._remove_old_videos(evaluation.run_id)
        return evaluation

    def end_what_was_under_way(self, reason: str) -> None:
        """Say of what an earlier server left that it failed."""
        for path in folders_with_evaluations_under_way(self._folder.path):
            RunFolder(path).remove_unfinished()
            files = EvaluationFiles(RunFolder(path).evaluations_path)
            for content in files.load_under_way():
                if (found := _decode(content)) is not None:
                    files.remove_video(found.id)
                    self.save(end_evaluation(found, EvaluationStatus.FAILED, reason))

    def _remove_old_videos(self, run_id: str) -> None:
        candidates = [e for e in self.load_all(run_id) if e.has_video and not e.pinned]
        for old in candidates[self._videos_kept :]:
            assert old.video is not None
            self.files(run_id).remove_video(old.id)
            self.save(replace(old, video=replace(old.video, is_removed=True)))


def newest_first(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Return evaluations in the order in which they are listed."""
    return sorted(evaluations, key=lambda one: one.created_at, reverse=True)


def _decode(content: bytes) -> Evaluation | None:
    try:
        return _RECORDS.decode(content)
    except msgspec.MsgspecError as error:
        _log.warning("A record of an evaluation can't be read and is left out: %s", error)
        return None
