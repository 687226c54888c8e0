"""The results of a run: metrics, bars, curves, clips, evaluations, versions of its model."""

from nicegui import ui

from app.access import Access
from app.catalog.algorithms import ALGORITHMS, Family
from app.catalog.environments import EnvSpec
from app.evaluation import Evaluations
from app.runs import RunService
from app.runs.state import RunFeed
from app.sharing.sharing import Sharing
from components.base import MetricCells, explained, panel
from components.evaluation import EvaluationPanel, EvaluationState, TimeMachineStrip
from components.run import CurveCharts, RewardBars, StartRun, VersionPanel


class Measurements:
    """Shows one run at a time and updates in place."""

    def __init__(
        self,
        runs: RunService,
        evaluations: Evaluations,
        sharing: Sharing,
        access: Access,
        *,
        state: EvaluationState,
        on_train: StartRun,
    ) -> None:
        self._state = state
        self._feed: RunFeed | None = None
        self._truncations = 0
        self._explained: tuple[EnvSpec, Family | None] | None = None
        with ui.element("section").classes("lab-panel is-metrics").props('aria-label="Metrics"'):
            self._metrics = MetricCells()
        with panel("Reward history (last 100)", place="rewards"):
            self._bars = RewardBars()
            reward = explained("reward")
        with panel("Curves", place="curves"):
            self._time_machine = TimeMachineStrip(runs, evaluations, access, state)
            self._curves = CurveCharts(runs, access)
            self._explanations = (reward, explained("learning_curve"))
        with panel("Evaluations", flush=True, place="tests"):
            self._evaluations = EvaluationPanel(state)
        with panel("Versions", flush=True, place="versions"):
            self._versions = VersionPanel(sharing, access, state, on_train=on_train)

    def begin(self, feed: RunFeed | None) -> None:
        """Show another run from its beginning."""
        self._feed = feed
        self._truncations = feed.truncations if feed else 0
        self._bars.start_over()
        self._curves.begin(feed)

    def show(self, feed: RunFeed | None, spec: EnvSpec) -> None:
        """Show the current state of a run; `spec` is the environment that is explained."""
        self._feed = feed
        self._restart_if_truncated()
        self._evaluations.show()
        latest = self._state.numbers(feed.latest if feed else {})
        self._metrics.show(latest, of_evaluation=self._state.shows_evaluation)
        self._bars.show(feed)
        self._curves.show(feed)
        self._time_machine.show(feed)
        # Another version may have had more algorithms.
        algorithm = ALGORITHMS.get(feed.run.algorithm) if feed else None
        self._explain(spec, algorithm.family if algorithm else None)

    async def follow(self, feed: RunFeed | None) -> None:
        """Load the clips and versions of another run."""
        await self._time_machine.follow(feed)
        await self._versions.follow(feed)

    def reset(self) -> None:
        """Clear the bars; nothing is deleted."""
        self._bars.clear()
        self._bars.show(self._feed)

    def _restart_if_truncated(self) -> None:
        """Redraw if the log was truncated because the run resumed from an earlier step."""
        if self._feed is not None and self._feed.truncations != self._truncations:
            self.begin(self._feed)

    def _explain(self, spec: EnvSpec, family: Family | None) -> None:
        if (spec, family) != self._explained:
            self._explained = (spec, family)
            self._metrics.explain_for(spec, family)
            for explanation in self._explanations:
                explanation.explain_for(spec, family)
