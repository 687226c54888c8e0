"""The finished evaluations of one run: on disk, and cached in memory once read."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from threading import Lock

import msgspec

from app.evaluation.evaluation import Evaluation, EvaluationStatus, end_evaluation
from app.workers import RecordedVideo, Video
from storage import EvaluationNotFoundError
from storage.files import EvaluationFiles, RunFolder

_log = logging.getLogger(__name__)

_DECODER = msgspec.json.Decoder(Evaluation)


class EvaluationRecords:
    """Stores the record of every evaluation, and the videos of the newest and the pinned ones.

    Methods do blocking file I/O, so call them on a thread; a lock serializes them.
    """

    def __init__(self, folder: RunFolder, *, videos_kept: int) -> None:
        self.files = EvaluationFiles(folder.evaluations_path)
        self.known: Mapping[str, Evaluation] | None = None
        """Evaluations by id; None until they are read. Replaced as a whole, never mutated."""
        self._folder = folder
        self._videos_kept = videos_kept
        self._lock = Lock()

    def read(self) -> Mapping[str, Evaluation]:
        """Return all finished evaluations by id."""
        with self._lock:
            return self._read()

    def save(self, evaluation: Evaluation, recorded: RecordedVideo | None = None) -> Evaluation:
        """Store an evaluation, with its video if there is one and it can be written."""
        with self._lock:
            if evaluation.status.is_over:
                self.files.remove_video(evaluation.id)
            if recorded is not None and recorded.video is not None:
                evaluation = self._save_video(evaluation, recorded, recorded.video)
            self._save(evaluation)
            self._remove_old_videos()
        return evaluation

    def pin(self, evaluation_id: str, *, on: bool) -> Evaluation:
        """Pin a video, or unpin it so that newer ones may replace it.

        Raises:
            EvaluationNotFoundError: if the run was deleted in the meantime.
        """
        with self._lock:
            if (found := self._read().get(evaluation_id)) is None:
                raise EvaluationNotFoundError(evaluation_id)
            self._save(pinned := replace(found, pinned=on))
            self._remove_old_videos()
        return pinned

    def fail_pending(self, reason: str) -> None:
        """Mark the evaluations that an earlier server left unfinished as failed."""
        with self._lock:
            self._folder.remove_unfinished()
            over = self._read()
            for left in _decoded(self.files.load_pending()).values():
                try:
                    if left.id not in over:
                        self.files.remove_video(left.id)
                    failed = end_evaluation(left, EvaluationStatus.FAILED, reason)
                    # If it is in `over`, it had ended and only its pending record was left.
                    self._save(over.get(left.id, failed))
                except OSError as error:
                    # The next start retries.
                    _log.warning("Evaluation %s is still pending: %s", left.id, error)

    def _read(self) -> Mapping[str, Evaluation]:
        if self.known is not None:
            return self.known
        # The folder of a deleted run may be restored, so nothing is cached while it is missing.
        is_there = self._folder.path.is_dir()
        contents = self.files.load_all()
        found = _decoded(contents)
        if is_there and None not in contents:
            self.known = found
        return found

    def _save(self, evaluation: Evaluation) -> None:
        known, is_over = self._read(), evaluation.status.is_over
        if evaluation.id in known and not is_over:
            return  # A late write: the evaluation has ended in the meantime.
        self.files.save(evaluation.id, asdict(evaluation), is_over=is_over)
        if is_over and self.known is not None:
            self.known = {**known, evaluation.id: evaluation}

    def _save_video(
        self, evaluation: Evaluation, recorded: RecordedVideo, video: Video
    ) -> Evaluation:
        steps = recorded.checked_replay()
        try:
            self.files.save_video(evaluation.id, recorded.content)
            if steps:
                self.files.save_replay(evaluation.id, steps)
        except OSError as error:
            self.files.remove_video(evaluation.id)
            note = f"The video could not be stored ({error.strerror or type(error).__name__})."
            return replace(evaluation, video_note=note)
        return replace(evaluation, video=replace(video, has_steps=bool(steps)))

    def _remove_old_videos(self) -> None:
        kept = [one for one in self._read().values() if one.has_video and not one.pinned]
        kept.sort(key=lambda one: one.created_at, reverse=True)
        for old in kept[self._videos_kept :]:
            assert old.video is not None
            try:
                self.files.remove_video(old.id)
                self._save(replace(old, video=replace(old.video, is_removed=True)))
            except OSError as error:
                # The next save retries.
                _log.warning("The video of evaluation %s was not removed: %s", old.id, error)


def _decoded(contents: list[bytes | None]) -> dict[str, Evaluation]:
    """Decode the records; skip those that can't be decoded."""
    found = {}
    for content in contents:
        if content is None:
            continue
        try:
            record = _DECODER.decode(content)
        except msgspec.MsgspecError as error:
            _log.warning("A record of an evaluation can't be read and is skipped: %s", error)
        else:
            found[record.id] = record
    return found
