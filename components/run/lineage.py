"""Where a run comes from and what came of it, as a small tree."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui
from pydantic import ValidationError

from app.access.run_access import RunAccess
from app.accounts.errors import AccessError
from app.analysis.comparison.comparing import Comparing
from app.analysis.comparison.lineage import Change, Node, branch_of
from app.analysis.comparison.numbers import final_reward
from app.catalog.algorithms.catalogue import get_algorithm
from app.core.errors import explain
from app.core.parameters import Parameter
from app.run_config.config import RunRequest
from app.run_config.derive import derive
from components.base.buttons import primary_button, quiet_button
from components.base.dialogs import answer_to
from components.base.hyperparameter_field import HyperparameterField, number_input, read_whole
from components.base.metrics import format_number
from components.base.panel import EmptyState
from components.base.refusal import Refusal
from components.base.status_badge import StatusBadge
from storage.errors import RunNotFoundError
from storage.records.runs import RunRecord

_TUNABLE = ("learning_rate", "ent_coef", "clip_range")

Train = Callable[[RunRequest], Awaitable[Any]]


class LineageTree:
    """Each run with what is different about it; any can be opened, run again or branched."""

    def __init__(self, *, on_train: Train, may_train: bool) -> None:
        """`on_train` starts a run and goes there."""
        self._on_train = on_train
        self._may_train = may_train
        self._shown: object = None
        self._refusal = Refusal()
        self._box = ui.element("div").classes("lab-lineage")
        self._dialogs = ui.element()

    def show(self, families: Sequence[Sequence[Node]], current: Sequence[str]) -> None:
        """Draw some trees, with the runs in sight marked."""
        content = [[_content(node) for node in family] for family in families], list(current)
        if content == self._shown:
            return
        self._shown = content
        self._box.clear()
        with self._box:
            for family in families:
                self._level(family, None, current)
            if not families:
                EmptyState(
                    "No branches yet",
                    "Change a value while it trains, or branch it, and the tree begins to grow.",
                )

    def _level(self, family: Sequence[Node], parent: str | None, current: Sequence[str]) -> None:
        found = [node for node in family if node.parent == parent]
        if not found:
            return
        with ui.element("ul"):
            for node in found:
                with ui.element("li"):
                    self._node(node, is_current=node.run.id in current)
                    self._level(family, node.run.id, current)

    def _node(self, node: Node, *, is_current: bool) -> None:
        run = node.run
        if node.edge:
            ui.label(node.edge).classes("lab-small")
        with ui.element("div").classes("lab-kin"):
            StatusBadge(run.status)
            link = ui.element("a").props(f'href="/runs/{run.id}"').classes("lab-name")
            if is_current:
                link.props('aria-current="true"')
            with link:
                ui.label(run.name).classes("lab-inline")
            if not run.status.is_active:
                # While it moves, the numbers above are the newest ones.
                steps, score = format_number(run.progress.timesteps), final_reward(run)
                words = f"{steps} steps, mean reward {format_number(score, 1)}"
                ui.label(words).classes("lab-small")
            if self._may_train:
                quiet_button("Run again", lambda: self._again(node), label=run.name)
                if node.branch_steps:
                    quiet_button("Branch", lambda: self._branch(node, None), label=run.name)
        for change in node.changes:
            self._change(node, change)

    def _change(self, node: Node, change: Change) -> None:
        with ui.element("div").classes("lab-kin is-change"):
            ui.label(f"Step {change.timesteps:,}: {change.words}").classes("lab-mono")
            before = change.before
            if self._may_train and before is not None:
                about = f"{node.run.name}, step {before:,}"
                quiet_button("Return to before", lambda: self._branch(node, before), label=about)

    async def _again(self, node: Node) -> None:
        await self._train(derive(node.run.config))

    async def _branch(self, node: Node, step: int | None) -> None:
        with self._dialogs:
            dialog = BranchDialog(node, step)
        request = await dialog.ask()
        if request is not None:
            await self._train(request)

    async def _train(self, request: RunRequest) -> None:
        # The button that was pressed goes as soon as the tree knows of the new run.
        with self._dialogs:
            await self._refusal.watch(self._on_train(request))


class BranchDialog:
    """From which step to go on, and with what other values."""

    def __init__(self, node: Node, step: int | None) -> None:
        self._node = node
        steps = list(reversed(node.branch_steps))
        with ui.dialog() as self._dialog, ui.card().classes("lab-panel lab-dialog"):
            ui.label(f"Branch {node.run.name}").classes("lab-name")
            ui.label(
                "A new run that begins with the policy of that step; what is left empty stays "
                "as it was then."
            ).classes("lab-small")
            options = {one: f"Step {one:,}" for one in steps}
            self._step = ui.select(options, value=step or steps[0], label="From")
            self._step.props("dense outlined options-dense").classes("lab-full")
            self._fields = {
                parameter.name: self._field(parameter)
                for parameter in get_algorithm(node.run.algorithm).hyperparameters
                if parameter.name in _TUNABLE
            }
            self._budget = number_input("Steps to train", "", lambda: None)
            self._refusal = Refusal()
            with ui.element("div").classes("lab-actions"):
                primary_button("Train the branch", self._submit)
                quiet_button("Cancel", self._dialog.close)

    @staticmethod
    def _field(parameter: Parameter) -> HyperparameterField:
        field = HyperparameterField(parameter, on_change=lambda: None)
        field.clear()
        field.element.props('placeholder="as it was"')
        return field

    async def ask(self) -> RunRequest | None:
        """Return what a person wants, or None if they'd rather not."""
        chosen: RunRequest | None = await answer_to(self._dialog)
        return chosen

    def _submit(self) -> None:
        wishes = {name: field.value for name, field in self._fields.items() if field.is_filled}
        if self._budget.value:
            wishes["total_timesteps"] = read_whole(self._budget.value)
        try:
            self._dialog.submit(branch_of(self._node.run, self._step.value, wishes))
        except ValidationError as error:
            self._refusal.say(str(explain([dict(one) for one in error.errors()])))


class LineagePanel:
    """The families of the runs in sight, as they are now."""

    _MOST = 5

    def __init__(self, trainer: RunAccess, *, on_train: Train) -> None:
        self._comparing = Comparing(trainer)
        self._followed: list[str] = []
        self._kin: set[str] = set()
        self._tree = LineageTree(on_train=on_train, may_train=trainer.visitor.may_work)
        trainer.run_changed.subscribe(self._run_changed)

    async def follow(self, run_ids: Sequence[str], *, alone: bool = True) -> None:
        """Show the families of these runs; a run without any only where it stands `alone`."""
        self._followed = list(run_ids)
        self._alone = alone
        await self.refresh()

    async def refresh(self) -> None:
        """Show them as they are now."""
        followed = self._followed
        families: list[Sequence[Node]] = []
        self._kin = set()
        for run_id in followed:
            if run_id in self._kin or len(families) == self._MOST:
                continue
            try:
                family = await self._comparing.lineage(run_id)
            except (RunNotFoundError, AccessError):
                continue
            self._kin |= {node.run.id for node in family}
            if self._alone or len(family) > 1 or any(node.changes for node in family):
                families.append(family)
        if followed is self._followed:
            self._tree.show(families, followed)

    async def _run_changed(self, run: RunRecord) -> None:
        if run.id in self._kin or run.parent in self._kin:
            await self.refresh()


def _content(node: Node) -> tuple[object, ...]:
    run = node.run
    told = (run.id, run.name, run.status, final_reward(run), run.progress.timesteps)
    return (*told, node.edge, tuple(node.changes), tuple(node.branch_steps))
