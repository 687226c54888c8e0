"""A test, step by step: what the policy saw, weighed and did at each picture of its video."""

from nicegui import ui

from app.catalog.environments.catalogue import environment_of_run
from app.catalog.environments.spec import ActionKind
from app.evaluation.evaluation import Evaluation
from storage.records.runs import RunRecord


class Replay(ui.element, component="replay.js"):
    """Belongs below a video, which it moves and follows."""

    def show(self, test: Evaluation | None, run: RunRecord | None) -> None:
        """Offer the steps of a test, or nothing."""
        has_steps = test is not None and test.video is not None and test.video.has_steps
        self.set_visibility(has_steps)
        if test is None or test.video is None or run is None or not has_steps:
            self._props["url"] = ""
            return
        spec = environment_of_run(run.env_id, run.config.get("env_kwargs"))
        self._props["fps"] = test.video.fps
        self._props["observed"] = [one.name for one in spec.observed]
        self._props["actions"] = list(spec.action_labels)
        self._props["discrete"] = spec.action_kind is ActionKind.DISCRETE
        self._props["url"] = f"/api/runs/{test.run_id}/evaluations/{test.id}/replay"
        self.update()
