"""`/train` and `/runs/<id>`: set up a run, start it and watch it train."""

from contextlib import suppress
from typing import Any

from nicegui import ui

from app.access import Access
from app.accounts import AccessError
from app.lab import Lab
from app.run_config import RunRequest, environment_of
from app.runs.state import RunFeed
from components.base import EmptyState, page_links, panel
from components.dashboard import LivePanel, Measurements, NewsColumn, SetupColumn
from components.evaluation import EvaluationState
from components.setup import Prefill, RewardEditing, SetupSheet
from components.shell import Tour
from pages.layout import RESPONSE_TIMEOUT_S, frame
from pages.opener import this_principal
from storage import LabError, RunNotFoundError
from storage.records import RunFilter, RunRecord, RunStatus


def register(lab: Lab) -> None:
    """Add the pages to the site."""

    @ui.page("/train", response_timeout=RESPONSE_TIMEOUT_S)
    async def train_page(
        env: str = "", algorithm: str = "", preset: str = "", tour: str = ""
    ) -> None:
        newest = await lab.runs.newest(lab.access_for(this_principal()).seen(RunFilter()))
        prefill = Prefill.read(env, algorithm, preset)
        dashboard = await _draw(lab, newest.id if newest else None, follow=True, prefill=prefill)
        if tour and dashboard is not None:
            dashboard.begin_tour()

    @ui.page("/runs/{run_id}", response_timeout=RESPONSE_TIMEOUT_S)
    async def run_page(run_id: str) -> None:
        await _draw(lab, run_id, follow=False)


async def _draw(
    lab: Lab, run_id: str | None, *, follow: bool, prefill: Prefill | None = None
) -> "Dashboard | None":
    sandbox = await lab.sandbox()
    access = lab.access_for(this_principal())
    try:
        feed = await lab.runs.feed(await access.visible(run_id)) if run_id else None
    except (RunNotFoundError, AccessError) as error:
        with frame("Run", lab, sandbox=sandbox), panel("Run"):
            EmptyState(str(error), "The list of runs shows every run that you have access to.")
            page_links(("All runs", "/runs"), ("Train a new run", "/train"))
        return None
    title = feed.run.name if feed and not follow else "Train"
    with frame(title, lab, sandbox=sandbox):
        rewards = RewardEditing(lab.rewards, lab.runs, access, refusal=await access.code_refusal())
        dashboard = Dashboard(lab, access, rewards, follow=follow)
        if prefill is not None:
            dashboard.prefill(prefill)
    await dashboard.show(feed)
    return dashboard


class Dashboard:
    """The page of one client: three columns that show one run at a time."""

    def __init__(self, lab: Lab, access: Access, rewards: RewardEditing, *, follow: bool) -> None:
        self._service = lab.runs
        self._access = access
        self._follow = follow
        self._feed: RunFeed | None = None
        self._place: int | None = None
        """The position of the shown run in the queue, if it waits."""
        self._state = EvaluationState(lab.evaluations, access, on_change=self._refresh)
        self._tour: Tour | None = None
        self._tour_box = ui.element("div")
        with ui.element("div").classes("lab-columns"):
            with ui.element("div").classes("lab-column"):
                self._setup_column(lab, rewards)
            with ui.element("div").classes("lab-column"):
                self._live_column(lab, rewards)
            with ui.element("div").classes("lab-column"):
                self._news_column(lab)
        self._sheet = SetupSheet()
        access.run_changed.subscribe(self._run_changed)
        lab.runs.run_deleted.subscribe(self._list_runs)
        lab.queue.load_changed.subscribe(self._find_place)

    def _setup_column(self, lab: Lab, rewards: RewardEditing) -> None:
        self._setup = SetupColumn(
            lab.runs,
            lab.environments,
            self._access,
            state=self._state,
            rewards=rewards,
            on_train=self._train,
            on_environment=self._refresh,
        )
        self._form = self._setup.form

    def _live_column(self, lab: Lab, rewards: RewardEditing) -> None:
        self._live = LivePanel(
            lab.runs,
            self._access,
            state=self._state,
            rewards=rewards,
            on_train=self._train,
            on_change=self._change,
            on_reset=lambda: self._measured.reset(),
        )
        self._measured = Measurements(
            lab.runs,
            lab.evaluations,
            lab.sharing,
            self._access,
            state=self._state,
            on_train=self._start_another,
        )

    def _news_column(self, lab: Lab) -> None:
        self._news = NewsColumn(
            lab.doctor,
            lab.reports,
            lab.comparing_for(self._access),
            self._access,
            on_train=self._start_another,
            on_change=self._change,
        )

    def prefill(self, values: Prefill) -> None:
        """Fill the form with the values from the URL."""
        self._form.prefill(values)

    def begin_tour(self) -> None:
        """Start the quick-start tour."""
        run = self._feed.run if self._feed else None
        with self._tour_box:
            self._tour = Tour(running=run, on_picked=self._form.fill_for_tour)

    async def show(self, feed: RunFeed | None) -> None:
        """Show another run: first its state, then its updates."""
        if self._feed is not None:
            self._feed.changed.unsubscribe(self._refresh)
        self._feed = feed
        self._place = None
        self._news.begin()
        self._measured.begin(feed)
        if feed is not None:
            feed.changed.subscribe(self._refresh)
        await self._state.follow(feed)
        self._refresh()
        await self._measured.follow(feed)
        await self._news.follow(feed)
        await self._find_place()
        await self._list_runs()

    def _refresh(self) -> None:
        if self._feed is not None and not self._access.principal.sees(self._feed.run):
            # No longer shared, or signed out: stop showing it.
            self._feed = None
        feed, chosen = self._feed, self._form.picker.value
        self._live.show(feed, chosen_env_id=chosen.id, place=self._place)
        self._setup.show(feed)
        self._measured.show(feed, environment_of(feed.run) if feed else chosen)
        self._news.show(feed)
        if self._tour is not None:
            self._tour.show(chosen, feed.run if feed else None)

    async def _find_place(self) -> None:
        """Show the position of the shown run in the queue."""
        feed = self._feed
        if feed is None or feed.run.status is not RunStatus.QUEUED:
            return
        with suppress(RunNotFoundError, AccessError):
            run = await self._access.visible(feed.run.id)
            self._place = await self._service.place_in_queue(run)
            self._refresh()

    async def _train(self, request: RunRequest) -> None:
        try:
            run, *_ = await self._access.create(request)
        except LabError as error:
            self._form.show_error(str(error))
            return
        self._sheet.close()
        if self._follow:
            await self._show_run(run.id)
        else:
            ui.navigate.to(f"/runs/{run.id}")

    async def _start_another(self, request: RunRequest) -> None:
        run, *_ = await self._access.create(request)
        ui.navigate.to(f"/runs/{run.id}")

    async def _change(self, values: dict[str, Any]) -> None:
        if self._feed is not None:
            run_id = self._feed.run.id
            async with self._access.changing(run_id, "run_changed", changed=values) as run:
                await self._service.adjust(run, values)

    async def _run_changed(self, run: RunRecord) -> None:
        """Switch to a newer run if the shown one is over, wherever the new one was started."""
        is_newer = self._feed is None or run.created_at > self._feed.run.created_at
        if self._follow and is_newer and (self._feed is None or self._feed.run.status.is_over):
            await self._show_run(run.id)
        else:
            await self._list_runs()

    async def _show_run(self, run_id: str) -> None:
        await self.show(await self._service.feed(await self._access.visible(run_id)))

    async def _list_runs(self) -> None:
        await self._setup.list_runs(self._feed)
