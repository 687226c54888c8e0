"""The reward that the run on stage learns from, and another one for a branch of it."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from app.runs.state.feed import RunFeed
from components.base.buttons import compact_button
from storage.records.runs import RunStatus


class RunReward:
    """Shows the code of a written reward, and where it failed."""

    def __init__(
        self, *, on_show: Callable[[], Awaitable[None]], on_mend: Callable[[int], Awaitable[None]]
    ) -> None:
        """`on_mend` opens the code at a line."""
        self._on_mend = on_mend
        self._line: int | None = None
        with ui.element("div").classes("lab-run-reward") as self._box:
            self._words = ui.label().classes("lab-small lab-grow")
            self._mend = compact_button("Mend it", self._open_line)
            self._show = compact_button("Reward", on_show)
            with self._show:
                self._why_not = ui.tooltip("")

    def show(self, feed: RunFeed | None, *, refusal: str | None) -> None:
        """Show a run's reward; `refusal` says why the visitor can't write one."""
        run = feed.run if feed and not feed.is_deleted else None
        self._box.set_visibility(run is not None)
        if feed is None or run is None:
            return
        is_written = run.config.get("reward_code") is not None
        self._line = _failed_line(feed) if is_written and refusal is None else None
        kind = "a reward of its own" if is_written else "the environment's reward"
        self._words.set_text(f"Learns from {kind}.")
        self._show.set_text("Show reward" if is_written else "Branch with a reward")
        # Nothing can go on from a run that never learned anything.
        can_go_on = run.progress.timesteps > 0 and refusal is None
        self._show.set_enabled(is_written or can_go_on)
        why_not = "" if is_written or can_go_on else refusal or "It has learned nothing yet."
        self._why_not.set_text(why_not)
        self._why_not.set_visibility(bool(why_not))
        self._mend.set_visibility(self._line is not None)
        self._mend.set_text(f"Mend line {self._line}")

    async def _open_line(self) -> None:
        if self._line is not None:
            await self._on_mend(self._line)


def _failed_line(feed: RunFeed) -> int | None:
    """Return in which line of its reward a run failed, if it did."""
    if feed.run.status is not RunStatus.FAILED:
        return None
    ends = (event for event in reversed(feed.events) if event.event_type == RunStatus.FAILED)
    line = next((event.data.get("line") for event in ends), None)
    return line if isinstance(line, int) else None
