"""`/runs`: every run there is, to open, rename and delete."""

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from app.accounts.errors import AccessError
from app.accounts.personal_trainer import PersonalTrainer
from app.lab import Lab
from app.training.trash import UNDO_WITHIN_S
from components.metrics import format_number
from components.panel import EmptyState, panel
from components.progress import format_seconds
from components.share_dialog import ask_for_readers
from components.status_badge import StatusBadge
from pages.layout import frame
from pages.visiting import this_visitor
from storage.errors import NotWrittenError, RunNotFoundError, WrongStateError
from storage.records import RunFilter, RunRecord, RunStatus

_PER_PAGE = 50
_REFRESH_EVERY_S = 2.0
_COLUMNS = (
    "Status",
    "Name",
    "Environment",
    "Algorithm",
    "Steps",
    "Mean reward",
    "Time",
    "Started",
    "",
)
_NUMBERS = {"Steps", "Mean reward", "Time"}
_OWNER = "Owner"


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/runs")
    async def history_page() -> None:
        with frame("Runs", lab, sandbox=await lab.sandbox()), panel("Runs", flush=True):
            table = RunTable(lab.trainer_for(this_visitor()))
        await table.refresh()


class RunTable:
    """A row per run, newest first, as many as were asked for."""

    def __init__(self, trainer: PersonalTrainer) -> None:
        self._trainer = trainer
        self._limit = _PER_PAGE
        self._deleted: RunRecord | None = None
        with ui.element("div").classes("lab-undo").props('role="status"') as self._undo_bar:
            self._undo_text = ui.label()
            _action("Undo", self._undo)
        self._undo_timer: ui.timer | None = None
        has_owners = trainer.visitor.person is not None
        self._columns = (*_COLUMNS[:-1], *([_OWNER] if has_owners else []), _COLUMNS[-1])
        self._hide_undo()
        self._empty = EmptyState("No runs yet", "Open Train, pick an environment and press Train.")
        with ui.element("table").classes("lab-table") as self._table:
            with ui.element("thead"), ui.element("tr"):
                for name in self._columns:
                    with ui.element("th").classes("is-number" if name in _NUMBERS else ""):
                        ui.label(name).classes("lab-label")
            self._body = ui.element("tbody")
        self._dialogs = ui.element()
        self._more = ui.button("Show more", on_click=self._show_more, color=None)
        self._more.props("unelevated").classes("lab-button lab-quiet lab-compact m-4")
        self._is_live = False
        self._shown: list[tuple[str, str, RunStatus, str | None]] = []
        self._numbers: dict[str, list[ui.label]] = {}
        ui.timer(_REFRESH_EVERY_S, self._refresh_if_live)
        trainer.run_changed.subscribe(self.refresh)
        trainer.run_deleted.subscribe(self.refresh)

    async def refresh(self) -> None:
        """Show the runs as they are now."""
        page = await self._trainer.list(RunFilter(archived=None), limit=min(self._limit, 500))
        self._is_live = any(run.status.has_worker for run in page.items)
        self._empty.set_visibility(not page.items)
        self._table.set_visibility(bool(page.items))
        self._more.set_visibility(page.next is not None and self._limit < 500)
        shown = [(run.id, run.name, run.status, self._trainer.owner_of(run)) for run in page.items]
        if shown != self._shown:
            self._shown = shown
            self._body.clear()
            with self._body:
                self._numbers = {run.id: self._row(run) for run in page.items}
        for run in page.items:
            for label, text in zip(self._numbers[run.id], _numbers(run), strict=True):
                label.set_text(text)

    async def _refresh_if_live(self) -> None:
        if self._is_live:
            await self.refresh()

    def _row(self, run: RunRecord) -> list[ui.label]:
        with ui.element("tr"):
            with ui.element("td"):
                StatusBadge(run.status)
            with ui.element("td").classes("is-name"):
                _link(run)
            _cell("Environment", run.env_id)
            _cell("Algorithm", run.algorithm)
            numbers = [_cell(name, "") for name in ("Steps", "Mean reward", "Time")]
            _cell("Started", run.created_at.astimezone().strftime("%Y-%m-%d %H:%M"))
            if _OWNER in self._columns:
                _cell(_OWNER, self._trainer.owner_of(run) or "-")
            with (
                ui.element("td").classes("is-actions"),
                ui.element("div").classes("lab-row-actions"),
            ):
                if self._trainer.readers_of(run) is not None:
                    _action("Share", lambda: self._share(run))
                _action("Rename", lambda: self._rename(run))
                _action("Delete", lambda: self._delete(run))
        return numbers

    async def _rename(self, run: RunRecord) -> None:
        # Not in the row: it is drawn anew whenever a run changes, and the dialog would close.
        with self._dialogs:
            name = await _ask_for_name(run.name)
        if name is None:
            return
        try:
            await self._trainer.change(run.id, name=name)
        except (RunNotFoundError, NotWrittenError, AccessError) as error:
            ui.notify(str(error), type="negative")

    async def _share(self, run: RunRecord) -> None:
        with self._dialogs:
            await ask_for_readers(
                run, self._trainer.readers_of(run) or (), share=partial(self._trainer.share, run.id)
            )

    async def _delete(self, run: RunRecord) -> None:
        try:
            await self._trainer.delete(run.id)
        except (WrongStateError, RunNotFoundError, NotWrittenError, AccessError) as error:
            ui.notify(str(error), type="negative")
            return
        self._deleted = run
        self._undo_text.set_text(f"{run.name} was deleted.")
        self._hide_undo()
        self._undo_bar.set_visibility(True)
        with self._undo_bar:
            self._undo_timer = ui.timer(UNDO_WITHIN_S, self._hide_undo, once=True, immediate=False)

    async def _undo(self) -> None:
        self._hide_undo()
        if self._deleted is not None:
            try:
                await self._trainer.restore(self._deleted)
            except RunNotFoundError:
                ui.notify(f"{self._deleted.name} is gone for good.", type="negative")
            except (NotWrittenError, AccessError) as error:
                ui.notify(str(error), type="negative")

    def _hide_undo(self) -> None:
        self._undo_bar.set_visibility(False)
        if self._undo_timer is not None:
            self._undo_timer.cancel()
            self._undo_timer = None

    async def _show_more(self) -> None:
        self._limit += _PER_PAGE
        await self.refresh()


def _numbers(run: RunRecord) -> tuple[str, str, str]:
    return (
        format_number(run.progress.timesteps),
        format_number((run.latest or {}).get("mean_reward"), 1),
        format_seconds(run.progress.elapsed_s),
    )


def _link(run: RunRecord) -> None:
    link = ui.element("a").props(f'href="/runs/{run.id}"').classes("lab-name is-link")
    # Not by `props`, which would read the quotes of a name as its own.
    link._props["title"] = run.name
    with link:
        ui.label(run.name)


def _cell(name: str, text: str) -> ui.label:
    classes = "lab-mono is-number" if name in _NUMBERS else "lab-mono"
    with ui.element("td").classes(classes).props(f'data-label="{name}"'):
        return ui.label(text).classes("inline")


def _action(text: str, handler: Callable[[], Awaitable[None]]) -> None:
    button = ui.button(text, on_click=handler, color=None)
    button.props("flat dense no-caps").classes("lab-small")


def _name_problem(name: str) -> str | None:
    return None if name.strip() else "A run needs a name."


async def _ask_for_name(current: str) -> str | None:
    """Return the name that a person chose, or None if they'd rather not."""

    def submit() -> None:
        if name.validate():
            dialog.submit(name.value.strip())

    with ui.dialog() as dialog, ui.card().classes("lab-panel lab-dialog"):
        name = ui.input("Name", value=current, validation=_name_problem)
        name.props("dense outlined autofocus maxlength=200").classes("w-full")
        name.on("keydown.enter", submit)
        with ui.element("div").classes("lab-actions"):
            save = ui.button("Rename", on_click=submit, color=None)
            save.props("unelevated").classes("lab-button lab-primary")
            cancel = ui.button("Cancel", on_click=dialog.close, color=None)
            cancel.props("unelevated").classes("lab-button lab-quiet")
    chosen: str | None = await dialog
    dialog.delete()
    return chosen
