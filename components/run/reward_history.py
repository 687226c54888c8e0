"""The rewards of the last 100 episodes, one bar each."""

from collections.abc import Sequence

from nicegui import ui

from app.runs.state import RECENT_EPISODES, Episode, RunFeed
from components.base import EmptyState

_NOTHING = ("No rewards yet", "Start training to see one bar per episode.")
_WAITING = ("Waiting for the first episode", "Its bar appears when the episode ends.")
_CLEARED = ("View cleared", "New episodes appear here. Reload to show all of them.")


class RewardBars:
    """A bar chart of the last 100 episodes; each bar can show its numbers."""

    def __init__(self) -> None:
        self._empty = EmptyState(*_NOTHING)
        self._bars = _Bars(f"Reward of the last {RECENT_EPISODES} episodes")
        self._bars.on("ready", self._draw)
        self._episodes: Sequence[Episode] = ()
        self._hidden_up_to = 0
        self._drawn_up_to: int | None = None
        """The last episode that was sent to the browser; None: send all of them."""

    def show(self, feed: RunFeed | None) -> None:
        """Show the episodes of a run."""
        self._episodes = list(feed.episodes) if feed else []
        is_waiting = feed is not None and feed.run.status.is_active
        self._empty.say(*(_CLEARED if self._hidden_up_to else _WAITING if is_waiting else _NOTHING))
        visible = self._visible
        self._empty.set_visibility(not visible)
        self._bars.set_visibility(bool(visible))
        if self._drawn_up_to is None:
            self._draw()
        elif fresh := [one for one in visible if one.number > (self._drawn_up_to or 0)]:
            self._drawn_up_to = fresh[-1].number
            self._bars.append(fresh)

    def clear(self) -> None:
        """Show only episodes that end from now on."""
        if self._episodes:
            self._hidden_up_to = self._episodes[-1].number
            self._drawn_up_to = None

    def start_over(self) -> None:
        """Show all episodes again: another run is shown, or the log was truncated."""
        self._hidden_up_to, self._drawn_up_to = 0, None

    @property
    def _visible(self) -> list[Episode]:
        return [episode for episode in self._episodes if episode.number > self._hidden_up_to]

    def _draw(self) -> None:
        self._bars.replace(self._visible)
        self._drawn_up_to = self._visible[-1].number if self._visible else self._hidden_up_to


class _Bars(ui.element, component="reward_bars.js"):
    """Keeps the episodes in the browser; the server sends only new ones."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self._props["label"] = label

    def replace(self, episodes: Sequence[Episode]) -> None:
        self.run_method("replace", [_row(one) for one in episodes])

    def append(self, episodes: Sequence[Episode]) -> None:
        self.run_method("append", [_row(one) for one in episodes], RECENT_EPISODES)


def _row(one: Episode) -> tuple[object, ...]:
    return one.number, round(one.reward, 4), one.length, one.timesteps, one.at, dict(one.terms)
