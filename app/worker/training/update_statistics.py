"""Statistics of a model's updates: losses, gradient norms, and time per phase."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm

from app.worker.fast.model import FastModel
from app.worker.training.diagnostics import GradientNorms, PolicyDiagnostics
from app.worker.training.live_changes import optimizers
from app.worker.training.metric_names import update_values
from app.worker.training.stopwatch import Stopwatch

_LINES_EVERY_S = 0.05


class UpdateStatistics:
    """Monitors the updates of a model, and returns their metrics."""

    def __init__(self, clock: Stopwatch, reported: int) -> None:
        self._clock = clock
        self.reported = reported
        """The last update that was reported in a line of metrics."""
        self._reported_at = -math.inf
        self._policy: PolicyDiagnostics | None = None
        self._gradients: GradientNorms | None = None

    @property
    def has_begun(self) -> bool:
        """Whether a model is monitored."""
        return self._policy is not None

    def begin(self, model: BaseAlgorithm, on_gradient_step: Callable[[], None]) -> None:
        """Monitor a model, and call `on_gradient_step` after each of its gradient steps."""
        self._policy = PolicyDiagnostics(model)
        self._gradients = gradients = GradientNorms(model)

        def after_fast_step(norm: float | None) -> None:
            gradients.unclipped = norm
            on_gradient_step()

        if isinstance(model, FastModel):
            model.after_gradient_step = after_fast_step
            return
        for optimizer in optimizers(model):
            optimizer.register_step_post_hook(lambda *_: on_gradient_step())

    def on_rollout_end(self, now: float) -> None:
        """Measure the policy on the data of the rollout, if it is time."""
        assert self._policy is not None
        self._policy.measure_if_due(now)

    def on_gradient_step(self, now: float) -> None:
        """Measure the gradients, if it is time."""
        assert self._gradients is not None
        self._gradients.measure_if_due(now)

    def take(
        self, logged: Mapping[str, Any], updates: int, *, is_last: bool = False
    ) -> dict[str, Any]:
        """Return the values since the last call; none without an update, or too soon after that."""
        now = time.perf_counter()
        is_too_soon = now - self._reported_at < _LINES_EVERY_S and not is_last
        if updates == self.reported or is_too_soon:
            return {}
        self.reported, self._reported_at = updates, now
        values = update_values(logged)
        if not values or self._gradients is None or self._policy is None:
            return {}
        return values | self._clock.split() | self._gradients.take() | self._policy.take(updates)
