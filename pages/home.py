"""`/`: what the lab is for, the latest runs, and every environment."""

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import Request
from nicegui import ui

from app.access.run_access import RunAccess
from app.catalog.environments.catalogue import CATALOGUE
from app.catalog.environments.filtering import EnvironmentFilter
from app.catalog.environments.spec import EnvSpec
from app.lab import Lab
from components.base.panel import panel
from components.base.skeleton import Skeleton, patiently
from components.environments.environment_grid import EnvironmentGrid
from components.history.run_list import RunList
from components.shell.remembered import remember, remembered
from components.shell.welcome import Welcome
from pages.layout import PATIENCE_S, frame
from pages.visiting import this_visitor
from storage.records.runs import RunFilter

_LATEST_RUNS = 8
_REFRESH_EVERY_S = 2.0
_WELCOMED = "welcomed"


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/", response_timeout=PATIENCE_S)
    async def home_page(request: Request) -> None:
        visitor = this_visitor()
        specs = [*CATALOGUE.values(), *lab.custom.specs(visitor)]
        wanted = EnvironmentFilter.read(request.query_params, specs)
        trainer = lab.trainer_for(visitor)
        with (
            frame("Home", lab, sandbox=await lab.sandbox()),
            ui.element("div").classes("lab-stack"),
        ):
            home = Home(trainer, specs, wanted)
        await patiently(home.refresh())


class Home:
    """One visit: a welcome for who has nothing yet, else the latest runs; then the grid."""

    def __init__(
        self, trainer: RunAccess, specs: Sequence[EnvSpec], wanted: EnvironmentFilter
    ) -> None:
        self._trainer = trainer
        self._was_welcomed = remembered(_WELCOMED) != ""
        self._is_live = False
        self._welcome = Welcome(on_hide=self._hide_welcome)
        with ui.element("div") as self._latest:
            self._latest_panel()
        with panel("Environments") as head:
            with head, ui.element("a").props('href="/write"').classes("lab-small"):
                ui.label("Write your own")
            self._grid = EnvironmentGrid(specs, wanted, on_change=_write_into_address)
        self._welcome.set_visibility(False)
        trainer.run_changed.subscribe(self.refresh)
        trainer.run_deleted.subscribe(self.refresh)
        ui.timer(_REFRESH_EVERY_S, self._refresh_if_live)

    def _latest_panel(self) -> None:
        with panel("Latest runs", flush=True, place="latest") as head:
            with head, ui.element("a").props('href="/runs"').classes("lab-small"):
                ui.label("All runs")
            self._skeleton = Skeleton(rows=2)
            self._runs = RunList()
        self._runs.set_visibility(False)

    async def refresh(self) -> None:
        """Show runs and what they solved as they are now."""
        latest = await self._trainer.list(RunFilter(), limit=_LATEST_RUNS)
        self._is_live = any(run.status.has_worker for run in latest.items)
        self._skeleton.remove()
        self._runs.set_visibility(True)
        self._runs.show(latest.items, None)
        is_first = not latest.items and not self._was_welcomed
        self._welcome.set_visibility(is_first)
        self._latest.set_visibility(not is_first)
        self._grid.show_solved(await self._trainer.solved())

    async def _refresh_if_live(self) -> None:
        if self._is_live:
            await self.refresh()

    def _hide_welcome(self) -> None:
        self._was_welcomed = True
        remember(_WELCOMED, "yes")
        self._welcome.set_visibility(False)
        self._latest.set_visibility(True)


def _write_into_address(wanted: EnvironmentFilter) -> None:
    """Let a link to this page, and a reload, show the same."""
    query = urlencode(wanted.query)
    ui.navigate.history.replace(f"/?{query}" if query else "/")
