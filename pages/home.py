"""`/`: a welcome, the latest runs and all environments."""

from collections.abc import Sequence
from urllib.parse import urlencode

from fastapi import Request
from nicegui import ui

from app.access import Access
from app.catalog.environments import ENVIRONMENTS, EnvironmentFilter, EnvSpec
from app.lab import Lab
from app.runs import RunService
from components.base import Skeleton, load_content, panel
from components.environments import EnvironmentGrid
from components.history import RunList
from components.shell import Welcome, preference, save_preference
from pages.layout import RESPONSE_TIMEOUT_S, frame
from pages.opener import this_principal
from storage.records import RunFilter

_LATEST_RUNS = 8
_REFRESH_EVERY_S = 2.0
_WELCOMED = "welcomed"


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/", response_timeout=RESPONSE_TIMEOUT_S)
    async def home_page(request: Request) -> None:
        principal = this_principal()
        specs = [*ENVIRONMENTS.values(), *lab.custom.specs(principal)]
        env_filter = EnvironmentFilter.read(request.query_params, specs)
        access = lab.access_for(principal)
        with (
            frame("Home", lab, sandbox=await lab.sandbox()),
            ui.element("div").classes("lab-stack"),
        ):
            home = Home(lab.runs, access, specs, env_filter)
        await load_content(home.refresh())


class Home:
    """The page of one client: a welcome or the latest runs, then the environments."""

    def __init__(
        self,
        runs: RunService,
        access: Access,
        specs: Sequence[EnvSpec],
        env_filter: EnvironmentFilter,
    ) -> None:
        self._service = runs
        self._access = access
        self._was_welcomed = preference(_WELCOMED) != ""
        self._is_live = False
        self._welcome = Welcome(on_hide=self._hide_welcome)
        with ui.element("div") as self._latest:
            self._latest_panel()
        with panel("Environments") as head:
            with head, ui.element("a").props('href="/write"').classes("lab-small"):
                ui.label("Write your own")
            self._grid = EnvironmentGrid(specs, env_filter, on_change=_write_into_url)
        self._welcome.set_visibility(False)
        access.run_changed.subscribe(self.refresh)
        runs.run_deleted.subscribe(self.refresh)
        ui.timer(_REFRESH_EVERY_S, self._refresh_if_live)

    def _latest_panel(self) -> None:
        with panel("Latest runs", flush=True, place="latest") as head:
            with head, ui.element("a").props('href="/runs"').classes("lab-small"):
                ui.label("All runs")
            self._skeleton = Skeleton(rows=2)
            self._runs = RunList()
        self._runs.set_visibility(False)

    async def refresh(self) -> None:
        """Show the latest runs and mark solved environments."""
        latest = await self._service.list(self._access.seen(RunFilter()), limit=_LATEST_RUNS)
        self._is_live = any(run.status.has_worker for run in latest.items)
        self._skeleton.remove()
        self._runs.set_visibility(True)
        self._runs.show(latest.items, None)
        is_first = not latest.items and not self._was_welcomed
        self._welcome.set_visibility(is_first)
        self._latest.set_visibility(not is_first)
        self._grid.show_solved(await self._service.solved(self._access.own()))

    async def _refresh_if_live(self) -> None:
        if self._is_live:
            await self.refresh()

    def _hide_welcome(self) -> None:
        self._was_welcomed = True
        save_preference(_WELCOMED, "yes")
        self._welcome.set_visibility(False)
        self._latest.set_visibility(True)


def _write_into_url(env_filter: EnvironmentFilter) -> None:
    """Put the filter into the URL, so that links and reloads keep it."""
    query = urlencode(env_filter.query)
    ui.navigate.history.replace(f"/?{query}" if query else "/")
