"""What a run looks like right now: read by pages and streams, written by its supervisor alone."""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.events import Event
from app.runs.state.frames import FrameHub
from storage.database.sketches import Sketcher
from storage.records.curves import terms_of
from storage.records.runs import EventRecord, JsonObject, Progress, RunRecord

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
    """When it ended."""
    at: str | None
    """When that was, by the clock."""
    terms: Mapping[str, float] = field(default_factory=dict)
    """What a custom reward gave, whole and term by term, if the run has one."""

    @classmethod
    def of(cls, line: JsonObject) -> "Episode":
        """Read it from the line of metrics that tells of its end."""
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
    """The state of one run, and the news that it changed.

    Who comes late reads the state and sees the same as who was there.
    """

    def __init__(
        self, run: RunRecord, lines: Sequence[JsonObject], events: Iterable[EventRecord]
    ) -> None:
        self.changed = Event[[]]()
        """Something on this feed is new; announced at most four times a second."""

        self.run = run
        self.frames = FrameHub()
        self.events: deque[EventRecord] = deque(events, maxlen=RECENT_EVENTS)
        self.lines: deque[JsonObject] = deque(maxlen=RECENT_LINES)
        self.episodes: deque[Episode] = deque(maxlen=RECENT_EPISODES)
        self.is_deleted = False
        self.has_checkpoint = False
        """Whether there is a place from which to go on."""
        self.has_model = False
        """Whether there is a model to download."""
        self.version = 0
        """Grows with every change."""
        self._cuts: list[int] = []
        """The last line that stayed, each time that lines were taken back."""
        self.live_note: str | None = None
        """Why nothing is shown live although somebody looks, if that is so."""
        self._latest: dict[str, Any] = {}
        self._sketcher = Sketcher(run.sketch)
        self._sketch = run.sketch
        self._next_change = asyncio.Event()
        self._announcing: asyncio.TimerHandle | None = None
        self._remember(lines)
        self._latest.update(run.latest or {})

    @property
    def latest(self) -> JsonObject:
        """The newest value of every metric."""
        return self._latest

    @property
    def line_count(self) -> int:
        """How many lines of metrics the run has."""
        return int(self.lines[-1]["n"]) if self.lines else 0

    @property
    def newest_event(self) -> int:
        """The number of the newest event in the run's log, 0 if there is none."""
        return self.events[0].id if self.events else 0

    def lines_after(self, n: int) -> list[JsonObject] | None:
        """Return the lines above number `n`, or None if they reach back further than this feed."""
        if self.lines and n + 1 < self.lines[0]["n"]:
            return None
        return [line for line in self.lines if line["n"] > n]

    def set_run(self, run: RunRecord) -> None:
        """Show another status, name or error."""
        self.run = replace(run, progress=self.run.progress)
        self._announce()

    def set_progress(self, progress: Progress) -> None:
        """Show how far the run has come."""
        self.run = replace(self.run, progress=progress)
        self._announce()

    def set_speed(self, fps: float | None) -> None:
        """Show how fast it goes."""
        if fps is not None:
            self._latest["fps"] = fps
            self._announce()

    def add_lines(self, lines: Sequence[JsonObject]) -> None:
        """Show new lines of metrics, which are on disk already."""
        self._remember(lines)
        self._sketch = self._sketcher.add(lines)
        self._announce()

    def cut_back(self, run: RunRecord, lines: Sequence[JsonObject]) -> None:
        """Forget what came after a checkpoint; `lines` are the newest that stay."""
        self.run = run
        self._sketcher, self._sketch = Sketcher(run.sketch), run.sketch
        self.lines.clear()
        self.episodes.clear()
        self._latest = dict(run.latest or {})
        self._remember(lines)
        self._cuts.append(self.line_count)
        self._announce()

    @property
    def truncations(self) -> int:
        """How often lines were taken back, for those who keep some."""
        return len(self._cuts)

    def kept_since(self, truncations: int) -> int:
        """Return the last line that still holds for somebody who knows of so many truncations."""
        return min(self._cuts[truncations:], default=self.line_count)

    def add_event(self, event: EventRecord) -> None:
        """Show a new event, which is in the database already."""
        self.events.appendleft(event)
        self._announce()

    def set_deleted(self) -> None:
        """Say that the run is gone."""
        self.is_deleted = True
        self._announce()

    def set_has_checkpoint(self) -> None:
        """Say that there is a place from which to go on."""
        self.has_checkpoint = True
        self._announce()

    @property
    def has_policy(self) -> bool:
        """Whether there is, or soon will be, a policy to play with."""
        return self.has_model or self.has_checkpoint or self.run.status.has_worker

    def set_has_model(self) -> None:
        """Say that there is a model to download."""
        self.has_model = True
        self._announce()

    def set_live_note(self, note: str | None) -> None:
        """Say why nothing is shown live, or that it is."""
        if note != self.live_note:
            self.live_note = note
            self._announce()

    async def wait(self, seen: int, seconds: float) -> bool:
        """Wait until `version` isn't `seen` any more, at most so long; return whether it is so."""
        if self.version != seen:
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._next_change.wait()
        except TimeoutError:
            return False
        return True

    def _remember(self, lines: Sequence[JsonObject]) -> None:
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
