"""The current state of a run: read by pages and streams, written only by its supervisor."""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.events import Event
from app.runs.state.frames import FrameHub
from storage.database import Sketcher
from storage.records import EventRecord, JsonObject, Progress, RunRecord, terms_of

RECENT_LINES = 2_000
RECENT_EPISODES = 100
RECENT_EVENTS = 200

_ANNOUNCE_EVERY_S = 0.25
_NOT_MEASURED = frozenset({"n", "t"})


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished episode as the reward history shows it."""

    number: int
    reward: float
    length: int
    timesteps: int
    """The step at which it ended."""
    at: str | None
    """The wall-clock time at which it ended."""
    terms: Mapping[str, float] = field(default_factory=dict)
    """The return under a custom reward, in total and per term, if the run has one."""

    @classmethod
    def of(cls, line: JsonObject) -> "Episode":
        """Build it from the line of metrics that reports its end."""
        shaped = {"shaped_reward": line.get("shaped_reward"), **terms_of(line)}
        terms = {name: value for name, value in shaped.items() if isinstance(value, int | float)}
        return cls(
            number=int(line["episode"]),
            reward=float(line["reward"]),
            length=int(line.get("episode_length") or 0),
            timesteps=int(line.get("timesteps") or 0),
            at=line.get("t"),
            terms=terms,
        )


class RunFeed:
    """The state of one run, with events on every change.

    A late subscriber reads the state and sees the same as an early one.
    """

    def __init__(
        self, run: RunRecord, lines: Sequence[JsonObject], events: Iterable[EventRecord]
    ) -> None:
        self.changed = Event[[]]()
        """The feed changed; emitted at most four times a second."""

        self.run = run
        self.frames = FrameHub()
        self.events: deque[EventRecord] = deque(events, maxlen=RECENT_EVENTS)
        self.lines: deque[JsonObject] = deque(maxlen=RECENT_LINES)
        self.episodes: deque[Episode] = deque(maxlen=RECENT_EPISODES)
        self.is_deleted = False
        self.has_checkpoint = False
        """Whether there is a checkpoint to resume from."""
        self.has_model = False
        """Whether there is a model to download."""
        self.version = 0
        """Increases with every change."""
        self._truncated_to: list[int] = []
        """The last remaining line of each truncation."""
        self.live_note: str | None = None
        """Why the live view shows nothing although it has viewers; None if it works."""
        self._latest: dict[str, Any] = {}
        self._sketcher = Sketcher(run.sketch)
        self._sketch = run.sketch
        self._next_change = asyncio.Event()
        self._announcing: asyncio.TimerHandle | None = None
        self._add_to_state(lines)
        self._latest.update(run.latest or {})

    @property
    def latest(self) -> JsonObject:
        """The newest value of every metric."""
        return self._latest

    @property
    def line_count(self) -> int:
        """The number of lines of metrics of the run."""
        return int(self.lines[-1]["n"]) if self.lines else 0

    @property
    def newest_event(self) -> int:
        """The number of the newest event in the run's log, 0 if there is none."""
        return self.events[0].id if self.events else 0

    def lines_after(self, n: int) -> list[JsonObject] | None:
        """Return the lines after number `n`, or None if this feed no longer has all of them."""
        if self.lines and n + 1 < self.lines[0]["n"]:
            return None
        return [line for line in self.lines if line["n"] > n]

    def set_run(self, run: RunRecord) -> None:
        """Update status, name and error."""
        self.run = replace(run, progress=self.run.progress)
        self._announce()

    def set_progress(self, progress: Progress) -> None:
        """Update the progress."""
        self.run = replace(self.run, progress=progress)
        self._announce()

    def set_speed(self, fps: float | None) -> None:
        """Update the steps per second."""
        if fps is not None:
            self._latest["fps"] = fps
            self._announce()

    def add_lines(self, lines: Sequence[JsonObject]) -> None:
        """Add lines of metrics, which are on disk already."""
        self._add_to_state(lines)
        self._sketch = self._sketcher.add(lines)
        self._announce()

    def truncate(self, run: RunRecord, lines: Sequence[JsonObject]) -> None:
        """Drop what came after a checkpoint; `lines` are the newest that remain."""
        self.run = run
        self._sketcher, self._sketch = Sketcher(run.sketch), run.sketch
        self.lines.clear()
        self.episodes.clear()
        self._latest = dict(run.latest or {})
        self._add_to_state(lines)
        self._truncated_to.append(self.line_count)
        self._announce()

    @property
    def truncations(self) -> int:
        """How often lines were dropped, for readers that hold some."""
        return len(self._truncated_to)

    def last_valid_line(self, truncations: int) -> int:
        """Return the last line that is still valid for a reader that saw this many truncations."""
        return min(self._truncated_to[truncations:], default=self.line_count)

    def add_event(self, event: EventRecord) -> None:
        """Add an event, which is in the database already."""
        self.events.appendleft(event)
        self._announce()

    def set_deleted(self) -> None:
        """Mark the run as deleted."""
        self.is_deleted = True
        self._announce()

    def set_has_checkpoint(self) -> None:
        """Note that there is a checkpoint to resume from."""
        self.has_checkpoint = True
        self._announce()

    @property
    def has_policy(self) -> bool:
        """Whether there is, or soon will be, a policy to play."""
        return self.has_model or self.has_checkpoint or self.run.status.has_worker

    def set_has_model(self) -> None:
        """Note that there is a model to download."""
        self.has_model = True
        self._announce()

    def set_live_note(self, note: str | None) -> None:
        """Set why the live view shows nothing; None: it works."""
        if note != self.live_note:
            self.live_note = note
            self._announce()

    async def wait(self, seen: int, seconds: float) -> bool:
        """Wait at most `seconds` for a version other than `seen`; return whether there is one."""
        if self.version != seen:
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._next_change.wait()
        except TimeoutError:
            return False
        return True

    def _add_to_state(self, lines: Sequence[JsonObject]) -> None:
        self.lines.extend(lines)
        for line in lines:
            measured = {k: v for k, v in line.items() if v is not None and k not in _NOT_MEASURED}
            self._latest.update(measured)
            if line.get("reward") is not None:
                self.episodes.append(Episode.of(line))

    def _announce(self) -> None:
        self.run = replace(self.run, latest=dict(self._latest) or None, sketch=self._sketch)
        self.version += 1
        change, self._next_change = self._next_change, asyncio.Event()
        change.set()
        if self._announcing is None:
            loop = asyncio.get_running_loop()
            self._announcing = loop.call_later(_ANNOUNCE_EVERY_S, self._announce_to_pages)

    def _announce_to_pages(self) -> None:
        self._announcing = None
        self.changed.emit()
