"""The fields to change a run while it trains: learning rate, entropy, clip range, budget."""

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from app.catalog.algorithms import Hyperparameter, get_algorithm
from app.core import read_whole
from app.runs.state import RunFeed
from components.base import HyperparameterField, number_input
from components.setup.schedule_choice import ScheduleChoice
from storage import LabError
from storage.records import RunRecord

_TUNABLE = {"learning_rate": "New rate", "ent_coef": "New entropy", "clip_range": "New clipping"}


class LiveChanges:
    """Requests only the entered values; an empty field leaves a value unchanged."""

    def __init__(self, *, on_change: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        self._on_change = on_change
        self._run: RunRecord | None = None
        self._fields: dict[str, HyperparameterField] = {}
        self._box = ui.expansion().props("dense dense-toggle").classes("lab-live-changes")
        with self._box, ui.element("div").classes("lab-form"):
            self._place = ui.element("div").classes("lab-pair")
            self._budget = number_input("New total timesteps", "", self._budget_typed)
            self._schedules = ScheduleChoice()
            self._error = ui.label().classes("lab-error").props('role="alert"')
            apply = ui.button("Apply", on_click=self._apply, color=None)
            apply.props("unelevated").classes("lab-button lab-compact lab-quiet")

    def show(self, feed: RunFeed | None) -> None:
        """Offer the values that can be changed in the shown run."""
        run = feed.run if feed and not feed.is_deleted else None
        self._box.set_visibility(run is not None)
        if run is None:
            return
        self._box.set_text("Change during training" if run.status.has_worker else "Extend the run")
        self._place.set_visibility(run.status.has_worker)
        before, self._run = self._run, run
        if before is None or run.id != before.id:
            self._offer(run)
        self._budget_typed()

    def _budget_typed(self) -> None:
        self._schedules.show(self._run, self._budget.value or "")

    def _offer(self, run: RunRecord) -> None:
        self._place.clear()
        self._fields.clear()
        self._budget.set_value("")
        self._error.set_text("")
        for parameter in get_algorithm(run.algorithm).hyperparameters:
            if parameter.name in _TUNABLE:
                with self._place:
                    self._fields[parameter.name] = _empty_field(parameter)

    async def _apply(self) -> None:
        values = {name: field.value for name, field in self._fields.items() if field.is_filled}
        if self._budget.value:
            values["total_timesteps"] = read_whole(self._budget.value)
            if self._schedules.value is not None:
                values["schedules"] = self._schedules.value
        if not values:
            self._error.set_text("Enter a new value first.")
            return
        try:
            await self._on_change(values)
        except LabError as error:
            self._error.set_text(str(error))
            return
        self._error.set_text("")
        for field in self._fields.values():
            field.clear()
        self._budget.set_value("")


def _empty_field(parameter: Hyperparameter) -> HyperparameterField:
    field = HyperparameterField(parameter, on_change=lambda: None, label=_TUNABLE[parameter.name])
    field.clear()
    field.element.mark(f"new {parameter.name}").props('placeholder="unchanged"')
    return field
