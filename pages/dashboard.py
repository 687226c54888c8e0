"""`/train` and `/runs/<id>`: set a run up, start it, watch it learn."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from nicegui import ui

from app.access.run_access import RunAccess
from app.accounts.errors import AccessError
from app.analysis.report.content import Report
from app.analysis.report.gathering import Told
from app.catalog.environments.catalogue import environment_of_run
from app.catalog.environments.spec import EnvSpec
from app.lab import Lab
from app.run_config.config import RunRequest
from app.run_config.derive import derive
from app.runs.state.feed import RunFeed
from components.base.explain import Explained, explained
from components.base.metrics import MetricCells
from components.base.panel import EmptyState, panel, ways_out
from components.base.refusal import Refusal
from components.evaluation.evaluation_controls import EvaluationControls
from components.evaluation.evaluation_desk import EvaluationDesk
from components.evaluation.evaluation_panel import EvaluationPanel
from components.evaluation.time_machine import TimeMachineStrip
from components.history.run_list import RunList
from components.run.curves import CurveCharts
from components.run.event_log import EventLog
from components.run.insights import InsightList
from components.run.lineage import LineagePanel
from components.run.live_feed import LiveFeed
from components.run.report_button import ReportButton
from components.run.reward_history import RewardBars
from components.run.run_actions import Allowed, Handlers
from components.run.version_panel import VersionPanel
from components.setup.prefilling import Prefill
from components.setup.reward_desk import RewardDesk
from components.setup.setup_form import SetupForm
from components.setup.setup_sheet import SetupSheet
from components.setup.steering import Steering
from components.shell.tour import Tour
from pages.layout import PATIENCE_S, frame
from pages.visiting import this_visitor
from storage.errors import LabError, RunNotFoundError
from storage.records.runs import RunFilter, RunRecord, RunStatus

_LATEST_RUNS = 8


def register(lab: Lab) -> None:
    """Add the pages to the site."""

    @ui.page("/train", response_timeout=PATIENCE_S)
    async def train_page(
        env: str = "", algorithm: str = "", preset: str = "", tour: str = ""
    ) -> None:
        newest = await lab.trainer_for(this_visitor()).newest()
        wish = Prefill.read(env, algorithm, preset)
        dashboard = await _draw(lab, newest.id if newest else None, follow=True, prefill=wish)
        if tour and dashboard is not None:
            dashboard.begin_tour()

    @ui.page("/runs/{run_id}", response_timeout=PATIENCE_S)
    async def run_page(run_id: str) -> None:
        await _draw(lab, run_id, follow=False)


async def _draw(
    lab: Lab, run_id: str | None, *, follow: bool, prefill: Prefill | None = None
) -> "Dashboard | None":
    sandbox = await lab.sandbox()
    trainer = lab.trainer_for(this_visitor())
    try:
        feed = await trainer.feed(run_id) if run_id else None
    except (RunNotFoundError, AccessError) as error:
        with frame("Run", lab, sandbox=sandbox), panel("Run"):
            EmptyState(str(error), "The list of runs has all that exist and that you may see.")
            ways_out(("All runs", "/runs"), ("Train a new one", "/train"))
        return None
    title = feed.run.name if feed and not follow else "Train"
    with frame(title, lab, sandbox=sandbox):
        rewards = lab.rewards_for(trainer.visitor)
        desk = RewardDesk(rewards, trainer, refusal=await rewards.refusal())
        dashboard = Dashboard(lab, trainer, desk, follow=follow)
        if prefill is not None:
            dashboard.prefill(prefill)
    await dashboard.show(feed)
    return dashboard


class Dashboard:
    """One visit: three columns that show one run at a time."""

    def __init__(self, lab: Lab, trainer: RunAccess, rewards: RewardDesk, *, follow: bool) -> None:
        self._trainer = trainer
        self._rewards = rewards
        self._environments = lab.environments
        self._follow = follow
        self._feed: RunFeed | None = None
        self._truncations = 0
        self._desk = EvaluationDesk(trainer.evaluations, on_change=self._refresh)
        self._explained: EnvSpec | None = None
        self._sentences: list[Explained] = []
        self._tour: Tour | None = None
        self._tour_place = ui.element("div")
        self._place: int | None = None
        """The place that the run on stage has in the queue, if it waits."""
        with ui.element("div").classes("lab-columns"):
            with ui.element("div").classes("lab-column"):
                self._setup_column()
            with ui.element("div").classes("lab-column"):
                self._live_column()
            with ui.element("div").classes("lab-column"):
                self._news_column()
        self._sheet = SetupSheet()
        self._trainer.run_changed.subscribe(self._run_changed)
        self._trainer.run_deleted.subscribe(self._list_runs)
        self._trainer.load_changed.subscribe(self._find_place)

    def prefill(self, wish: Prefill) -> None:
        """Choose in the form what an address asked for."""
        self._form.prefill(wish)

    async def show(self, feed: RunFeed | None) -> None:
        """Show another run, from its state first, then by its news."""
        if self._feed is not None:
            self._feed.changed.unsubscribe(self._refresh)
            self._feed.changed.unsubscribe(self._take_back)
        self._feed = feed
        self._truncations = feed.truncations if feed else 0
        self._log.clear()
        self._bars.start_over()
        if feed is not None:
            feed.changed.subscribe(self._take_back)
            feed.changed.subscribe(self._refresh)
        self._curves.begin(feed)
        self._place = None
        await self._desk.follow(feed)
        self._refresh()
        await self._machine.follow(feed)
        await self._insights.show(feed)
        await self._lineage.follow([feed.run.id] if feed else [])
        await self._versions.follow(feed)
        await self._find_place()
        await self._list_runs()

    def begin_tour(self) -> None:
        """Guide a newcomer from here to a trained agent."""
        run = self._feed.run if self._feed else None
        with self._tour_place:
            self._tour = Tour(running=run, on_picked=self._form.begin_simply)

    def _setup_column(self) -> None:
        with panel("Setup", place="setup"):
            self._form = SetupForm(
                on_train=self._train,
                on_environment=self._refresh,
                on_reward=self._rewards.write,
                find=self._find,
                refusal=self._why_not_train(),
            )
            self._rewards.serve(self._form)
            self._tests = EvaluationControls(self._desk)
        with panel("Latest runs", flush=True, place="runs"):
            self._runs = RunList()

    async def _find(self, env_id: str) -> EnvSpec:
        may_ask = self._trainer.visitor.may_work
        return await self._environments.find(env_id, may_ask=may_ask)

    def _live_column(self) -> None:
        with panel("Live feed", flush=True, place="live") as head:
            self._live = LiveFeed(
                head,
                on=Handlers(
                    pause=lambda: self._ask(self._trainer.pause),
                    resume=lambda: self._ask(self._trainer.resume),
                    stop=lambda: self._ask(self._trainer.stop),
                    again=self._train_again,
                ),
                on_reset=self._reset,
                desk=self._desk,
            )
            self._refusal = Refusal()
            self._steering = Steering(on_change=self._change)
            self._rewards.add_row()
        with ui.element("section").classes("lab-panel is-metrics").props('aria-label="Metrics"'):
            self._metrics = MetricCells()
        with panel("Reward history (last 100)", place="rewards"):
            self._bars = RewardBars()
            self._sentences.append(explained("reward"))
        with panel("Curves", place="curves"):
            self._machine = TimeMachineStrip(
                self._trainer.evaluations, self._desk, look=self._trainer.curves
            )
            self._curves = CurveCharts(look=self._trainer.curves)
            self._sentences.append(explained("learning_curve"))
        with panel("Evaluations", flush=True, place="tests"):
            self._evaluations = EvaluationPanel(self._desk)
        with panel("Versions", flush=True, place="versions"):
            self._versions = VersionPanel(self._trainer, self._desk, on_begin=self._start_another)

    def _news_column(self) -> None:
        with panel("Analysis & explainer", place="analysis"):
            self._insights = InsightList(
                look=self._trainer.insights, on_train=self._start_another, on_change=self._change
            )
            self._report = ReportButton(make=self._make_report)
            self._trainer.insights_changed.subscribe(self._insights.look_again)
        with panel("Event log", flush=True, place="log"):
            self._log = EventLog()
        with panel("Lineage", place="lineage"):
            self._lineage = LineagePanel(self._trainer, on_train=self._start_another)

    def _refresh(self) -> None:
        if self._feed is not None and not self._trainer.visitor.sees(self._feed.run):
            # Not shared any more, or signed out: nothing more is shown of it.
            self._feed = None
        feed = self._feed
        self._live.show(
            feed,
            chosen_env_id=self._form.picker.value.id,
            place=self._place,
            allowed=self._allowed(feed),
        )
        self._steering.show(feed)
        self._rewards.show(feed)
        self._form.stand_back(feed is not None and feed.run.status.is_active)
        self._tests.show(feed)
        self._evaluations.show()
        latest = self._desk.numbers(feed.latest if feed else {})
        self._metrics.show(latest, of_test=self._desk.shows_test)
        self._bars.show(feed)
        self._curves.show(feed)
        self._machine.show(feed)
        self._insights.follow(feed)
        self._report.show(feed)
        self._explain(feed)
        if self._tour is not None:
            self._tour.show(self._form.picker.value, feed.run if feed else None)
        if feed is not None:
            self._log.show(feed.events)
            self._runs.show_score(feed.run)

    def _explain(self, feed: RunFeed | None) -> None:
        """Let the sentences beside numbers speak of the environment in sight."""
        spec = self._form.picker.value
        if feed is not None:
            spec = environment_of_run(feed.run.env_id, feed.run.config.get("env_kwargs"))
        if spec != self._explained:
            self._explained = spec
            self._metrics.about(spec)
            for sentence in self._sentences:
                sentence.about(spec)

    def _take_back(self) -> None:
        """Draw the curves anew when lines were taken back, because the run goes on before them."""
        if self._feed is not None and self._feed.truncations != self._truncations:
            self._truncations = self._feed.truncations
            self._bars.start_over()
            self._curves.begin(self._feed)

    def _why_not_train(self) -> str | None:
        """Return why the visitor can't train, if that is so."""
        try:
            self._trainer.visitor.check_works()
        except AccessError as error:
            return str(error)
        return None

    def _allowed(self, feed: RunFeed | None) -> Allowed:
        allowed = Allowed.NOTHING if self._why_not_train() else Allowed.TRAIN
        if feed is not None and self._trainer.visitor.changes(feed.run):
            allowed |= Allowed.CHANGE
        return allowed

    async def _find_place(self) -> None:
        """Show which place the run on stage has in the queue."""
        feed = self._feed
        if feed is None or feed.run.status is not RunStatus.QUEUED:
            return
        with suppress(RunNotFoundError, AccessError):
            self._place = await self._trainer.place_in_queue(feed.run.id)
            self._refresh()

    async def _train_again(self) -> None:
        if self._feed is not None:
            await self._train(derive(self._feed.run.config))

    async def _train(self, request: RunRequest) -> None:
        try:
            run = await self._create(request)
        except LabError as error:
            self._form.refuse(str(error))
            return
        self._sheet.close()
        if self._follow:
            await self.show(await self._trainer.feed(run.id))
        else:
            ui.navigate.to(f"/runs/{run.id}")

    async def _start_another(self, request: RunRequest) -> None:
        run = await self._create(request)
        ui.navigate.to(f"/runs/{run.id}")

    async def _make_report(self, run_id: str, told: Told) -> Report:
        return await self._trainer.report(run_id, told=told)

    async def _create(self, request: RunRequest) -> RunRecord:
        if request.seeds is None:
            return await self._trainer.create(request)
        return (await self._trainer.create_group(request))[0]

    async def _ask(self, wish: Callable[[str], Awaitable[RunRecord]]) -> None:
        """Ask something of the run on stage; its status tells when it has happened."""
        if self._feed is None:
            return
        self._refusal.say("")
        try:
            await wish(self._feed.run.id)
        except LabError as error:
            self._refusal.say(str(error))

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
