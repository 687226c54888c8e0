"""What a visit knows of the tests of the run on stage, and which of them has the stage."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from app.access.evaluation_access import EvaluationAccess
from app.accounts.errors import AccessError
from app.catalog.environments.catalogue import environment_of_run
from app.catalog.environments.spec import EnvSpec
from app.evaluation.evaluation import Evaluation, EvaluationOptions, EvaluationStatus
from app.runs.state.feed import RunFeed
from storage.errors import LabError, RunNotFoundError
from storage.records.runs import JsonObject

_STAYS_ON_STAGE = timedelta(minutes=5)
"""So long a visitor who comes later finds a test's video on stage although the run trains."""


class EvaluationDesk:
    """Reads the tests of one run and hears their news; `on_change` draws them."""

    def __init__(self, evaluations: EvaluationAccess, *, on_change: Callable[[], None]) -> None:
        self.items: Sequence[Evaluation] = ()
        """Tests and recordings, newest first."""
        self.refusal = ""
        """Why the visitor's last wish was refused; empty if it wasn't."""
        self._evaluations = evaluations
        self._on_change = on_change
        self._feed: RunFeed | None = None
        self._chosen: str | None = None
        self._sent_away: set[str] = set()
        self._awaited: str | None = None
        """The evolution video that this visitor wants to see as soon as it is there."""
        evaluations.changed.subscribe(self._changed)

    def may_change(self, feed: RunFeed) -> bool:
        """Whether the visitor may test and record a run."""
        return self._evaluations.may_change(feed.run)

    @property
    def environment(self) -> EnvSpec | None:
        """What is known of the environment of the run."""
        if self._feed is None:
            return None
        run = self._feed.run
        return environment_of_run(run.env_id, run.config.get("env_kwargs"))

    async def follow(self, feed: RunFeed | None) -> None:
        """Know the tests of another run."""
        self._feed, self._chosen, self.refusal = feed, None, ""
        self.items = ()
        await self._read()
        if feed is not None and feed.run.status.is_active:
            self._send_away_before(datetime.now(UTC) - _STAYS_ON_STAGE)

    def _send_away_before(self, time: datetime) -> None:
        """Leave the stage to the training, unless a test was over just now."""
        self._sent_away |= {e.id for e in self.items if e.finished_at and e.finished_at < time}

    @property
    def under_way(self) -> Evaluation | None:
        """The test that runs, or else the one that waits longest."""
        waiting = [one for one in self.items if not one.status.is_over and one.kind == "evaluation"]
        running = [one for one in waiting if one.status is EvaluationStatus.RUNNING]
        return next(iter(running or waiting[-1:]), None)

    @property
    def recording(self) -> Evaluation | None:
        """The recording of the live view that is under way."""
        found = (e for e in self.items if e.kind == "recording" and not e.status.is_over)
        return next(found, None)

    @property
    def evolution(self) -> Evaluation | None:
        """The evolution video that is being made."""
        found = (e for e in self.items if e.kind == "evolution" and not e.status.is_over)
        return next(found, None)

    @property
    def latest(self) -> Evaluation | None:
        """The newest test that has something to say."""
        done = (
            one for one in self.items if one.kind == "evaluation" and one.mean_return is not None
        )
        return next(done, None)

    @property
    def on_stage(self) -> Evaluation | None:
        """Whose video is on stage, if any is: the chosen one, or that of the newest test."""
        if self.under_way is not None:
            return None
        found = [one for one in self.items if one.has_video]
        if self._chosen is not None:
            return next((one for one in found if one.id == self._chosen), None)
        newest = next((one for one in found if one.kind == "evaluation"), None)
        return None if newest is None or self._is_over(newest) else newest

    @property
    def shows_test(self) -> bool:
        """Whether `numbers` returns those of a test."""
        return self._counted is not None

    @property
    def _counted(self) -> Evaluation | None:
        test = self.under_way or self.on_stage
        if test is None or test.status is EvaluationStatus.QUEUED or test.kind == "evolution":
            return None
        return test

    def numbers(self, latest: JsonObject) -> JsonObject:
        """Return the numbers that belong to what is on stage: the test's, or the training's."""
        test = self._counted
        if test is None:
            return latest
        played = len(test.returns)
        if not played:
            return {}
        return {
            "mean_reward": sum(test.returns) / played,
            "mean_length": sum(test.lengths) / played,
        }

    async def start(
        self, episodes: int, *, checkpoint: int | str | None = None, code: str | None = None
    ) -> None:
        """Test the run on stage: its newest policy or another version, judged by code or not."""
        if self._feed is not None:
            run_id = self._feed.run.id
            await self._try(self._start(run_id, episodes, checkpoint=checkpoint, code=code))

    async def _start(self, run_id: str, episodes: int, **how: Any) -> None:
        await self._evaluations.start(
            run_id, EvaluationOptions(episodes=episodes, record=True, **how)
        )
        self._chosen = None

    async def code_refusal(self) -> str | None:
        """Say why the visitor may not give evaluation code, None if they may."""
        return await self._evaluations.code_refusal()

    async def record(self) -> None:
        """Keep the next episode of the live view."""
        if self._feed is not None:
            await self._try(self._evaluations.record(self._feed.run.id))

    async def evolve(self) -> None:
        """Have the clips of the run on stage strung into one video, and show it."""
        if self._feed is not None:
            await self._try(self._evolve(self._feed.run.id))

    async def _evolve(self, run_id: str) -> None:
        self._awaited = (await self._evaluations.evolve(run_id)).id

    async def cancel(self) -> None:
        """End the test that is under way."""
        if (test := self.under_way) is not None:
            await self._try(self._evaluations.cancel(test.run_id, test.id))

    async def pin(self, test: Evaluation) -> None:
        """Keep a video for good, or let newer ones take its place."""
        await self._try(self._evaluations.pin(test.run_id, test.id, on=not test.pinned))

    def play(self, test: Evaluation) -> None:
        """Put a video on stage."""
        self._chosen = test.id
        self._on_change()

    def back_to_live(self) -> None:
        """Give the stage back to the live feed."""
        self._chosen = None
        self._sent_away |= {one.id for one in self.items}
        self._on_change()

    def _is_over(self, test: Evaluation) -> bool:
        """Whether something newer than a test's video belongs on stage."""
        if test.id in self._sent_away or self._feed is None or test.finished_at is None:
            return True
        turns = (event for event in self._feed.events if event.event_type == "running")
        return any(event.timestamp > test.finished_at for event in turns)

    async def _changed(self, run_id: str) -> None:
        if self._feed is not None and run_id == self._feed.run.id:
            await self._read()
            self._on_change()

    async def _read(self) -> None:
        feed = self._feed
        if feed is None:
            return
        try:
            found = await self._evaluations.list(feed.run.id)
        except (AccessError, RunNotFoundError):
            found = ()
        if feed is self._feed:
            self.items = found
            if any(one.id == self._awaited and one.has_video for one in found):
                self._chosen, self._awaited = self._awaited, None

    async def _try(self, wish: Any) -> None:  # noqa: ANN401 - an awaitable of whatever
        self.refusal = ""
        try:
            await wish
        except LabError as error:
            self.refusal = str(error)
        await self._read()
        self._on_change()
