"""The replay of an evaluation: observation, policy output and action at each video frame."""

from nicegui import ui

from app.catalog.environments import ActionKind
from app.evaluation import Evaluation
from app.run_config import environment_of
from storage.records import RunRecord


class Replay(ui.element, component="replay.js"):
    """Is placed below a video; seeks it and follows its playback."""

    def show(self, evaluation: Evaluation | None, run: RunRecord | None) -> None:
        """Show the steps of an evaluation, or nothing."""
        video = evaluation.video if evaluation is not None else None
        has_steps = video is not None and video.has_steps
        self.set_visibility(has_steps)
        if evaluation is None or video is None or run is None or not has_steps:
            self._props["url"] = ""
            return
        spec = environment_of(run)
        self._props["fps"] = video.fps
        self._props["observed"] = [one.name for one in spec.observed]
        self._props["actions"] = list(spec.action_labels)
        self._props["discrete"] = spec.action_kind is ActionKind.DISCRETE
        self._props["url"] = f"/api/runs/{evaluation.run_id}/evaluations/{evaluation.id}/replay"
        self.update()
