"""`/train` and `/runs/<id>`: set a run up, start it, watch it learn."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi.responses import RedirectResponse
from nicegui import ui

from app.accounts.errors import AccessError
from app.accounts.personal_trainer import PersonalTrainer
from app.environments.catalogue import environment_of_run
from app.environments.spec import EnvSpec
from app.lab import Lab
from app.training.config import RunRequest
from app.training.feed import RunFeed
from components.event_log import EventLog
from components.live_feed import LiveFeed
from components.metrics import MetricCells
from components.panel import EmptyState, panel
from components.reward_history import LearningCurve, RewardBars
from components.run_list import RunList
from components.setup_form import SetupForm
from components.steering import Steering
from pages.layout import frame
from pages.visiting import this_visitor
from storage.errors import NotWrittenError, RunNotFoundError, WrongStateError
from storage.records import RunFilter, RunRecord

_LATEST_RUNS = 8
_CURVE_POINTS = 1_500
_CURVES = ("reward", "mean_reward", "eval_reward", "eval_timesteps")


def register(lab: Lab) -> None:
    """Add the pages to the site."""

    @ui.page("/")
    async def home_page() -> RedirectResponse:
        return RedirectResponse("/train")

    @ui.page("/train")
    async def train_page() -> None:
        newest = await lab.trainer_for(this_visitor()).newest()
        await _draw(lab, newest.id if newest else None, follow=True)

    @ui.page("/runs/{run_id}")
    async def run_page(run_id: str) -> None:
        await _draw(lab, run_id, follow=False)


async def _draw(lab: Lab, run_id: str | None, *, follow: bool) -> None:
    sandbox = await lab.sandbox()
    trainer = lab.trainer_for(this_visitor())
    try:
        feed = await trainer.feed(run_id) if run_id else None
    except (RunNotFoundError, AccessError) as error:
        with frame("Run", lab, sandbox=sandbox), panel("Run"):
            EmptyState(str(error), "The list of runs has all that exist and that you may see.")
        return
    title = feed.run.name if feed and not follow else "Train"
    with frame(title, lab, sandbox=sandbox):
        dashboard = Dashboard(lab, trainer, follow=follow)
    await dashboard.show(feed)


class Dashboard:
    """One visit: three columns that show one run at a time."""

    def __init__(self, lab: Lab, trainer: PersonalTrainer, *, follow: bool) -> None:
        self._trainer = trainer
        self._environments = lab.environments
        self._follow = follow
        self._feed: RunFeed | None = None
        self._truncations = 0
        with ui.element("div").classes("lab-columns"):
            with ui.element("div").classes("lab-column"):
                self._setup_column()
            with ui.element("div").classes("lab-column"):
                self._live_column()
            with ui.element("div").classes("lab-column"):
                self._news_column()
        self._trainer.run_changed.subscribe(self._run_changed)
        self._trainer.run_deleted.subscribe(self._list_runs)

    async def show(self, feed: RunFeed | None) -> None:
        """Show another run, from its state first, then by its news."""
        if self._feed is not None:
            self._feed.changed.unsubscribe(self._refresh)
            self._feed.changed.unsubscribe(self._take_back)
        self._feed = feed
        self._truncations = feed.truncations if feed else 0
        self._log.clear()
        self._bars.start_over()
        self._curve.clear()
        if feed is not None:
            feed.changed.subscribe(self._take_back)
            feed.changed.subscribe(self._refresh)
        self._refresh()
        await self._begin_curve()
        await self._list_runs()

    def _setup_column(self) -> None:
        with panel("Setup", place="setup"):
            self._form = SetupForm(
                on_train=self._train, on_environment=self._refresh, find=self._find
            )
        with panel("Latest runs", flush=True, place="runs"):
            self._runs = RunList()

    async def _find(self, env_id: str) -> EnvSpec:
        may_ask = self._trainer.visitor.may_work
        return await self._environments.find(env_id, may_ask=may_ask)

    def _live_column(self) -> None:
        with panel("Live feed", flush=True, place="live") as head:
            self._live = LiveFeed(
                head,
                on_pause=lambda: self._ask(self._trainer.pause),
                on_resume=lambda: self._ask(self._trainer.resume),
                on_stop=lambda: self._ask(self._trainer.stop),
                on_reset=self._reset,
            )
            self._steering = Steering(on_change=self._change)
        with ui.element("section").classes("lab-panel is-metrics").props('aria-label="Metrics"'):
            self._metrics = MetricCells()
        with panel("Reward history (last 100)", place="rewards"):
            self._bars = RewardBars()
        with panel("Learning curve", place="rewards"):
            self._curve = LearningCurve()
            self._curve.on_ready(self._begin_curve)

    def _news_column(self) -> None:
        with panel("Analysis & explainer", place="analysis"):
            EmptyState(
                "Nothing to report yet", "Insights appear here once there is enough to judge."
            )
        with panel("Event log", flush=True, place="log"):
            self._log = EventLog()

    def _refresh(self) -> None:
        if self._feed is not None and not self._trainer.visitor.sees(self._feed.run):
            # Not shared any more, or signed out: nothing more is shown of it.
            self._feed = None
        feed = self._feed
        self._live.show(feed, chosen_env_id=self._form.picker.value.id)
        self._steering.show(feed)
        self._metrics.show(feed.latest if feed else {})
        self._bars.show(feed)
        self._curve.show(feed)
        if feed is not None:
            self._log.show(feed.events)
            self._runs.show_score(feed.run)

    async def _take_back(self) -> None:
        """Draw the curve anew when lines were taken back, because the run goes on before them."""
        if self._feed is not None and self._feed.truncations != self._truncations:
            self._truncations = self._feed.truncations
            self._bars.start_over()
            await self._begin_curve()

    async def _begin_curve(self) -> None:
        feed = self._feed
        if feed is None:
            return
        told = feed.line_count
        spec = environment_of_run(feed.run.env_id, feed.run.config.get("env_kwargs"))
        lines = await self._trainer.shape(feed.run.id, _CURVES, _CURVE_POINTS)
        if feed is self._feed:
            self._curve.begin(
                [line for line in lines if line["n"] <= told], told, spec.solved_threshold
            )

    async def _train(self, request: RunRequest) -> None:
        try:
            run = await self._create(request)
        except (NotWrittenError, AccessError) as error:
            ui.notify(str(error), type="negative")
            return
        if self._follow:
            await self.show(await self._trainer.feed(run.id))
        else:
            ui.navigate.to(f"/runs/{run.id}")

    async def _create(self, request: RunRequest) -> RunRecord:
        if request.seeds is None:
            return await self._trainer.create(request)
        return (await self._trainer.create_group(request))[0]

    async def _ask(self, wish: Callable[[str], Awaitable[RunRecord]]) -> None:
        """Ask something of the run on stage; its status tells when it has happened."""
        if self._feed is None:
            return
        try:
            await wish(self._feed.run.id)
        except (WrongStateError, RunNotFoundError, NotWrittenError, AccessError) as error:
            ui.notify(str(error), type="negative")

    async def _change(self, wishes: dict[str, Any]) -> None:
        if self._feed is not None:
            await self._trainer.adjust(self._feed.run.id, wishes)

    def _reset(self) -> None:
        self._bars.clear()
        self._bars.show(self._feed)

    async def _run_changed(self, run: RunRecord) -> None:
        """Follow the run that trains now, wherever it was started."""
        is_news = self._feed is None or run.created_at > self._feed.run.created_at
        if self._follow and is_news and (self._feed is None or self._feed.run.status.is_over):
            await self.show(await self._trainer.feed(run.id))
        else:
            await self._list_runs()

    async def _list_runs(self) -> None:
        page = await self._trainer.list(RunFilter(), limit=_LATEST_RUNS)
        self._runs.show(page.items, self._feed.run.id if self._feed else None)
