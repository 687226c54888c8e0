"""What the episodes brought: the last hundred as bars, all of them as a curve."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from app.training.feed import Episode, RunFeed
from components.hyperparameter_field import write_value
from components.live_chart import Columns, LiveChart
from components.panel import EmptyState
from storage.records import JsonObject

_DECIMALS = 2


class RewardBars:
    """The last hundred episodes."""

    def __init__(self) -> None:
        self._empty = EmptyState("No rewards yet", "Start training to see one bar per episode.")
        self._chart = LiveChart("bars", "Reward of the last 100 episodes")
        self._chart.on("ready", self._draw)
        self._episodes: Sequence[Episode] = ()
        self._hidden_up_to = 0
        self._drawn: tuple[int, int] | None = None

    def show(self, feed: RunFeed | None) -> None:
        """Show the episodes of a run."""
        self._episodes = list(feed.episodes) if feed else []
        waiting = feed is not None and feed.run.status.is_active
        if waiting:
            self._empty.say(
                "Waiting for the first episode", "It ends when the agent fails or makes it."
            )
        else:
            self._empty.say("No rewards yet", "Start training to see one bar per episode.")
        if self._hidden_up_to:
            self._empty.say("The view was cleared", "New episodes appear here, all after a reload.")
        newest = (self._visible[0].number, self._visible[-1].number) if self._visible else None
        self._empty.set_visibility(newest is None)
        self._chart.set_visibility(newest is not None)
        if newest != self._drawn:
            self._drawn = newest
            self._draw()

    def clear(self) -> None:
        """Show only episodes that end from now on."""
        if self._episodes:
            self._hidden_up_to = self._episodes[-1].number

    def start_over(self) -> None:
        """Forget what was cleared: another run is shown."""
        self._hidden_up_to, self._drawn = 0, None

    @property
    def _visible(self) -> list[Episode]:
        return [episode for episode in self._episodes if episode.number > self._hidden_up_to]

    def _draw(self) -> None:
        shown = self._visible
        self._chart.replace(
            ([e.number for e in shown], [round(e.reward, _DECIMALS) for e in shown])
        )


class LearningCurve:
    """Every episode's reward, faint, the mean of a hundred, strong, and what evaluations found."""

    def __init__(self) -> None:
        self._empty = EmptyState("No curve yet", "It begins with the first episode.")
        self._chart = LiveChart("lines", "Reward over timesteps").classes("is-tall")
        self._chart.set_visibility(False)
        self._told = 0
        self._is_begun = False
        self._marks: list[tuple[int, str]] = []

    def begin(self, lines: Iterable[JsonObject], told: int, threshold: float | None) -> None:
        """Draw the shape of what was there before; `told` is the number of its last line."""
        columns = _columns(lines)
        self._chart.replace(*columns, threshold=threshold)
        self._marks = []
        self._has_points(bool(columns[0][0]))
        self._told = told
        self._is_begun = True

    def clear(self) -> None:
        """Draw nothing until `begin`."""
        self._is_begun = False
        self._marks = []
        self._has_points(False)
        self._chart.replace(((), ()), ((), ()), ((), ()))

    def show(self, feed: RunFeed | None) -> None:
        """Add what is new since the last call."""
        if feed is None or not self._is_begun:
            return
        self._mark(feed)
        if feed.line_count <= self._told:
            return
        lines = feed.lines_after(self._told)
        self._told = feed.line_count
        if lines:
            self._has_points(True)
            self._chart.append(*_columns(lines))

    def _mark(self, feed: RunFeed) -> None:
        """Show where the run was changed."""
        marks = [
            (event.data["timesteps"], _changes(event.data["values"]))
            for event in feed.events
            if event.event_type == "changed"
        ]
        if marks != self._marks:
            self._marks = marks
            self._chart.mark_steps(marks)

    def _has_points(self, some: bool) -> None:
        self._empty.set_visibility(not some)
        self._chart.set_visibility(some)

    def on_ready(self, handler: Callable[[], Awaitable[None]]) -> None:
        """Call `handler` once the browser has the chart; a hidden one doesn't say so."""
        self._chart.on("ready", handler)


def _changes(values: JsonObject) -> str:
    return ", ".join(f"{name} {write_value(value)}" for name, value in values.items())


def _columns(lines: Iterable[JsonObject]) -> tuple[Columns, Columns, Columns]:
    kept = list(lines)
    return (
        _column(kept, "reward"),
        _column(kept, "mean_reward"),
        _column(kept, "eval_reward", at="eval_timesteps"),
    )


def _column(lines: Sequence[JsonObject], name: str, *, at: str = "timesteps") -> Columns:
    found = [line for line in lines if line.get(name) is not None]
    xs = [line.get(at, line["timesteps"]) for line in found]
    return xs, [round(line[name], _DECIMALS) for line in found]
