"""Change a run while it trains: learning rate, entropy, clip range, budget."""

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from app.catalog.algorithms.catalogue import get_algorithm
from app.catalog.algorithms.spec import Hyperparameter
from app.runs.state.feed import RunFeed
from components.base.hyperparameter_field import HyperparameterField, number_input, read_whole
from storage.errors import LabError
from storage.records.runs import RunRecord

_TUNABLE = {"learning_rate": "New rate", "ent_coef": "New entropy", "clip_range": "New clipping"}


class Steering:
    """Asks for what was typed, and only for that; an empty field leaves a value as it is."""

    def __init__(self, *, on_change: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        self._on_change = on_change
        self._run_id: str | None = None
        self._fields: dict[str, HyperparameterField] = {}
        self._box = ui.expansion().props("dense dense-toggle").classes("lab-steering")
        with self._box, ui.element("div").classes("lab-form"):
            self._place = ui.element("div").classes("lab-pair")
            self._budget = number_input("New budget", "", lambda: None)
            self._error = ui.label().classes("lab-error").props('role="alert"')
            apply = ui.button("Apply", on_click=self._apply, color=None)
            apply.props("unelevated").classes("lab-button lab-compact lab-quiet")

    def show(self, feed: RunFeed | None) -> None:
        """Offer what the run on stage can be given."""
        run = feed.run if feed and not feed.is_deleted else None
        self._box.set_visibility(run is not None)
        if run is None:
            return
        self._box.set_text("Change while it trains" if run.status.has_worker else "Extend it")
        self._place.set_visibility(run.status.has_worker)
        if run.id != self._run_id:
            self._run_id = run.id
            self._offer(run)

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
        wishes = {name: field.value for name, field in self._fields.items() if field.is_filled}
        if self._budget.value:
            wishes["total_timesteps"] = read_whole(self._budget.value)
        if not wishes:
            self._error.set_text("Nothing was typed.")
            return
        try:
            await self._on_change(wishes)
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
    field.element.mark(f"new {parameter.name}").props('placeholder="as it is"')
    return field
