"""The lineage of a run: its ancestors and branches as a small tree."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui
from pydantic import ValidationError

from app.access import Access
from app.accounts import AccessError
from app.analysis.comparison import Change, Comparing, Node, branch_of
from app.catalog.algorithms import get_algorithm
from app.core import Parameter, input_error, read_whole
from app.run_config import LIVE_HYPERPARAMETERS, RunRequest, config_of, derive
from components.base import (
    EmptyState,
    HyperparameterField,
    Refusal,
    StatusBadge,
    answer_to,
    format_number,
    number_input,
    primary_button,
    quiet_button,
)
from storage import LabError, RunNotFoundError
from storage.records import RunRecord

Train = Callable[[RunRequest], Awaitable[Any]]


class LineageTree:
    """Shows each run with its differences; any can be opened, run again or branched."""

    def __init__(self, *, on_train: Train, may_train: bool) -> None:
        """`on_train` starts a run and opens its page."""
        self._on_train = on_train
        self._may_train = may_train
        self._shown: object = None
        self._refusal = Refusal()
        self._box = ui.element("div").classes("lab-lineage")
        self._dialogs = ui.element()

    def show(self, families: Sequence[Sequence[Node]], current: Sequence[str]) -> None:
        """Draw the trees and mark the current runs."""
        values = [[_drawn_values(node) for node in family] for family in families], list(current)
        if values == self._shown:
            return
        self._shown = values
        self._box.clear()
        with self._box:
            for family in families:
                self._level(family, None, current)
            if not families:
                EmptyState(
                    "No branches yet",
                    "Change a value during training, or branch the run, to start the tree.",
                )

    def _level(self, family: Sequence[Node], parent: str | None, current: Sequence[str]) -> None:
        children = [node for node in family if node.parent == parent]
        if not children:
            return
        with ui.element("ul"):
            for node in children:
                with ui.element("li"):
                    self._node(node, is_current=node.run.id in current)
                    self._level(family, node.run.id, current)

    def _node(self, node: Node, *, is_current: bool) -> None:
        run = node.run
        if node.edge:
            ui.label(node.edge).classes("lab-small")
        with ui.element("div").classes("lab-lineage-run"):
            StatusBadge(run.status)
            link = ui.element("a").props(f'href="/runs/{run.id}"').classes("lab-name")
            if is_current:
                link.props('aria-current="true"')
            with link:
                ui.label(run.name).classes("lab-inline")
            if not run.status.is_active:
                # While a run is active, the page shows newer numbers above.
                steps = format_number(run.progress.timesteps)
                text = f"{steps} steps, score {format_number(run.score, 1)}"
                ui.label(text).classes("lab-small")
            if self._may_train:
                quiet_button("Run again", lambda: self._run_again(node), label=run.name)
                if node.branch_steps:
                    quiet_button("Branch", lambda: self._branch(node, None), label=run.name)
        for change in node.changes:
            self._change(node, change)

    def _change(self, node: Node, change: Change) -> None:
        with ui.element("div").classes("lab-lineage-run is-change"):
            ui.label(f"Step {change.timesteps:,}: {change.words}").classes("lab-mono")
            before = change.before
            if self._may_train and before is not None:
                about = f"{node.run.name}, step {before:,}"
                quiet_button("Branch from before", lambda: self._branch(node, before), label=about)

    async def _run_again(self, node: Node) -> None:
        await self._watch(self._train_like(node.run))

    async def _train_like(self, run: RunRecord) -> None:
        await self._on_train(derive(config_of(run)))

    async def _branch(self, node: Node, step: int | None) -> None:
        with self._dialogs:
            dialog = BranchDialog(node, step)
        request = await dialog.ask()
        if request is not None:
            await self._watch(self._on_train(request))

    async def _watch(self, training: Awaitable[Any]) -> None:
        # The pressed button disappears as soon as the tree shows the new run.
        with self._dialogs:
            await self._refusal.watch(training)


class BranchDialog:
    """Asks for the step to branch from and the values to change."""

    def __init__(self, node: Node, step: int | None) -> None:
        self._node = node
        steps = list(reversed(node.branch_steps))
        with ui.dialog() as self._dialog, ui.card().classes("lab-panel lab-dialog"):
            ui.label(f"Branch {node.run.name}").classes("lab-name")
            ui.label(
                "A new run that starts with the policy of this step. Empty fields keep the values "
                "of that step."
            ).classes("lab-small")
            options = {one: f"Step {one:,}" for one in steps}
            self._step = ui.select(options, value=step or steps[0], label="From")
            self._step.props("dense outlined options-dense").classes("lab-full")
            self._fields = {
                parameter.name: self._field(parameter)
                for parameter in get_algorithm(node.run.algorithm).hyperparameters
                if parameter.name in LIVE_HYPERPARAMETERS
            }
            self._budget = number_input("Total timesteps", "", lambda: None)
            self._refusal = Refusal()
            with ui.element("div").classes("lab-actions"):
                primary_button("Train the branch", self._submit)
                quiet_button("Cancel", self._dialog.close)

    @staticmethod
    def _field(parameter: Parameter) -> HyperparameterField:
        field = HyperparameterField(parameter, on_change=lambda: None)
        field.clear()
        field.element.props('placeholder="unchanged"')
        return field

    async def ask(self) -> RunRequest | None:
        """Return the request of the user, or None if they cancel."""
        chosen: RunRequest | None = await answer_to(self._dialog)
        return chosen

    def _submit(self) -> None:
        values = {name: field.value for name, field in self._fields.items() if field.is_filled}
        if self._budget.value:
            values["total_timesteps"] = read_whole(self._budget.value)
        try:
            self._dialog.submit(branch_of(self._node.run, self._step.value, values))
        except ValidationError as error:
            self._refusal.say(str(input_error([dict(one) for one in error.errors()])))
        except LabError as error:
            self._refusal.say(str(error))


class LineagePanel:
    """The family trees of the shown runs, kept up to date."""

    _MAX_FAMILIES = 5

    def __init__(self, access: Access, comparing: Comparing, *, on_train: Train) -> None:
        self._comparing = comparing
        self._followed: list[str] = []
        self._related: set[str] = set()
        self._tree = LineageTree(on_train=on_train, may_train=access.principal.may_work)
        access.run_changed.subscribe(self._run_changed)

    async def follow(self, run_ids: Sequence[str], *, alone: bool = True) -> None:
        """Show the families of these runs; a run without relatives only if `alone` is set."""
        self._followed = list(run_ids)
        self._alone = alone
        await self.refresh()

    async def refresh(self) -> None:
        """Reload the families."""
        followed = self._followed
        families: list[Sequence[Node]] = []
        self._related = set()
        for run_id in followed:
            if run_id in self._related or len(families) == self._MAX_FAMILIES:
                continue
            try:
                family = await self._comparing.lineage(run_id)
            except (RunNotFoundError, AccessError):
                continue
            self._related |= {node.run.id for node in family}
            if self._alone or len(family) > 1 or any(node.changes for node in family):
                families.append(family)
        if followed is self._followed:
            self._tree.show(families, followed)

    async def _run_changed(self, run: RunRecord) -> None:
        if run.id in self._related or run.parent in self._related:
            await self.refresh()


def _drawn_values(node: Node) -> tuple[object, ...]:
    run = node.run
    facts = (run.id, run.name, run.status, run.score, run.progress.timesteps)
    return (*facts, node.edge, tuple(node.changes), tuple(node.branch_steps))
