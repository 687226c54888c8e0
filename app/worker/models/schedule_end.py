"""Let schedules and exploration end before the budget does."""

from functools import cache

from stable_baselines3.common.base_class import BaseAlgorithm

from app.protocol import messages, next_schedule_end


class ScheduleEnd(BaseAlgorithm):
    """Counts the progress of schedules from step 0 to the step at which they end.

    SB3 would count up to the budget, on-policy even to the one with which `learn` was called.
    """

    schedule_timesteps: int | None = None
    """The step at which schedules end; None: at the end of the budget."""

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:  # noqa: ARG002 - SB3's
        end = self.schedule_timesteps or self._total_timesteps
        super()._update_current_progress_remaining(min(num_timesteps, end), end)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "schedule_timesteps"]


@cache
def with_schedule_end(model_class: type[BaseAlgorithm]) -> type[BaseAlgorithm]:
    """Return a subclass of an algorithm whose models are `ScheduleEnd`."""
    return type(model_class.__name__, (ScheduleEnd, model_class), {})


def set_schedule_end(model: BaseAlgorithm, step: int | None) -> None:
    """Let the schedules of a model end at a step; None: at the end of its budget."""
    assert isinstance(model, ScheduleEnd)
    model.schedule_timesteps = step


def move_schedule_end(model: BaseAlgorithm, change: messages.Change, total: int) -> None:
    """Do to a model's schedules what a change of the budget requests; `total` is that of before."""
    assert isinstance(model, ScheduleEnd)
    assert change.total_timesteps is not None
    end = model.schedule_timesteps or total
    model.schedule_timesteps = next_schedule_end(end, change.total_timesteps, change.schedules)
