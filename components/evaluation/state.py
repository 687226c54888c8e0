"""The state of a page visit: evaluations of the shown run, and whose video is displayed."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from app.access import Access
from app.accounts import AccessError
from app.analysis.comparison import human_normalized_evaluation
from app.catalog.environments import EnvSpec
from app.evaluation import Evaluation, EvaluationRequest, Evaluations, EvaluationStatus
from app.run_config import environment_of
from app.runs.state import RunFeed
from storage import LabError, RunNotFoundError
from storage.records import JsonObject

_DISPLAYED_FOR = timedelta(minutes=5)
"""How long a finished evaluation's video is displayed by default although the run trains."""


class EvaluationState:
    """Loads the evaluations of one run and follows their changes; `on_change` redraws them."""

    def __init__(
        self, evaluations: Evaluations, access: Access, *, on_change: Callable[[], None]
    ) -> None:
        self.items: Sequence[Evaluation] = ()
        """Evaluations and recordings, newest first."""
        self.refusal = ""
        """Why the user's last request was refused, or ""."""
        self._evaluations = evaluations
        self._access = access
        self._on_change = on_change
        self._feed: RunFeed | None = None
        self._chosen: str | None = None
        self._dismissed: set[str] = set()
        self._awaited: str | None = None
        """The evolution video to display as soon as it is ready."""
        self.changed = evaluations.changed
        """The evaluations of the run with this id have changed."""
        self.changed.subscribe(self._changed)

    def may_change(self, feed: RunFeed) -> bool:
        """Whether the principal may evaluate and record a run."""
        return self._access.principal.changes(feed.run)

    def human_normalized(self, evaluation: Evaluation) -> float | None:
        """Return the mean return of an evaluation relative to human play, if it is comparable."""
        return (
            None if self._feed is None else human_normalized_evaluation(self._feed.run, evaluation)
        )

    @property
    def environment(self) -> EnvSpec | None:
        """The environment of the run."""
        return None if self._feed is None else environment_of(self._feed.run)

    async def follow(self, feed: RunFeed | None) -> None:
        """Load the evaluations of another run."""
        self._feed, self._chosen, self.refusal = feed, None, ""
        self.items = ()
        await self._read()
        if feed is not None and feed.run.status.is_active:
            self._dismiss_before(datetime.now(UTC) - _DISPLAYED_FOR)

    def _dismiss_before(self, time: datetime) -> None:
        """Don't display the videos of evaluations that finished before a time."""
        self._dismissed |= {e.id for e in self.items if e.finished_at and e.finished_at < time}

    @property
    def under_way(self) -> Evaluation | None:
        """The evaluation that runs, or else the one that has waited longest."""
        waiting = [one for one in self.items if not one.status.is_over and one.kind == "evaluation"]
        running = [one for one in waiting if one.status is EvaluationStatus.RUNNING]
        return next(iter(running or waiting[-1:]), None)

    @property
    def recording(self) -> Evaluation | None:
        """The recording of the live view that is in progress."""
        active = (e for e in self.items if e.kind == "recording" and not e.status.is_over)
        return next(active, None)

    @property
    def evolution(self) -> Evaluation | None:
        """The evolution video that is being created."""
        active = (e for e in self.items if e.kind == "evolution" and not e.status.is_over)
        return next(active, None)

    @property
    def latest(self) -> Evaluation | None:
        """The newest evaluation that has results."""
        done = (
            one for one in self.items if one.kind == "evaluation" and one.mean_return is not None
        )
        return next(done, None)

    @property
    def displayed(self) -> Evaluation | None:
        """The evaluation whose video is displayed: the chosen or the newest one, if any."""
        if self.under_way is not None:
            return None
        with_video = [one for one in self.items if one.has_video]
        if self._chosen is not None:
            return next((one for one in with_video if one.id == self._chosen), None)
        newest = next((one for one in with_video if one.kind == "evaluation"), None)
        return None if newest is None or self._is_outdated(newest) else newest

    @property
    def shows_evaluation(self) -> bool:
        """Whether `numbers` returns those of an evaluation."""
        return self._with_numbers is not None

    @property
    def _with_numbers(self) -> Evaluation | None:
        evaluation = self.under_way or self.displayed
        if evaluation is None or evaluation.kind == "evolution" or not evaluation.record:
            # Without a video it isn't shown live, so the numbers of the training stay.
            return None
        return None if evaluation.status is EvaluationStatus.QUEUED else evaluation

    def numbers(self, latest: JsonObject) -> JsonObject:
        """Return the numbers of the displayed evaluation, or else of the training."""
        evaluation = self._with_numbers
        if evaluation is None:
            return latest
        played = len(evaluation.returns)
        if not played:
            return {}
        return {
            "mean_reward": sum(evaluation.returns) / played,
            "mean_length": sum(evaluation.lengths) / played,
        }

    async def start(self, episodes: int, **options: Any) -> None:
        """Evaluate the shown run; the options are those of `EvaluationRequest`."""
        if self._feed is not None:
            await self._try(self._start(self._feed.run.id, episodes, **options))

    async def _start(self, run_id: str, episodes: int, **options: Any) -> None:
        request = EvaluationRequest(episodes=episodes, record=True, **options)
        run = await self._access.evaluable(run_id, code=request.code, uses_disk=True)
        await self._evaluations.start(run, request)
        self._chosen = None

    async def code_refusal(self) -> str | None:
        """Return why the principal may not use evaluation code, or None if they may."""
        return await self._access.code_refusal()

    async def record(self) -> None:
        """Record the next episode of the live view."""
        if self._feed is not None:
            await self._try(self._record(self._feed.run.id))

    async def _record(self, run_id: str) -> None:
        await self._evaluations.record(await self._access.evaluable(run_id, uses_disk=True))

    async def evolve(self) -> None:
        """Join the clips of the shown run into one video, and display it when ready."""
        if self._feed is not None:
            await self._try(self._evolve(self._feed.run.id))

    async def _evolve(self, run_id: str) -> None:
        run = await self._access.evaluable(run_id, uses_disk=True)
        self._awaited = (await self._evaluations.evolve(run)).id

    async def cancel(self) -> None:
        """Cancel the running or waiting evaluation."""
        if (evaluation := self.under_way) is not None:
            await self._try(self._cancel(evaluation))

    async def _cancel(self, evaluation: Evaluation) -> None:
        run = await self._access.evaluable(evaluation.run_id)
        await self._evaluations.cancel(run, evaluation.id)

    async def pin(self, evaluation: Evaluation) -> None:
        """Pin or unpin a video; newer videos replace only unpinned ones."""
        await self._try(self._pin(evaluation))

    async def _pin(self, evaluation: Evaluation) -> None:
        run = await self._access.evaluable(evaluation.run_id)
        await self._evaluations.pin(run, evaluation.id, on=not evaluation.pinned)

    def play(self, evaluation: Evaluation) -> None:
        """Display a video."""
        self._chosen = evaluation.id
        self._on_change()

    def back_to_live(self) -> None:
        """Display the live view again."""
        self._chosen = None
        self._dismissed |= {one.id for one in self.items}
        self._on_change()

    def _is_outdated(self, evaluation: Evaluation) -> bool:
        """Whether an evaluation's video was dismissed or is older than the latest start."""
        if evaluation.id in self._dismissed or self._feed is None or evaluation.finished_at is None:
            return True
        starts = (event for event in self._feed.events if event.event_type == "running")
        return any(event.timestamp > evaluation.finished_at for event in starts)

    async def _changed(self, run_id: str) -> None:
        if self._feed is not None and run_id == self._feed.run.id:
            await self._read()
            self._on_change()

    async def _read(self) -> None:
        feed = self._feed
        if feed is None:
            return
        try:
            items = await self._evaluations.list(await self._access.visible(feed.run.id))
        except (AccessError, RunNotFoundError):
            items = ()
        if feed is self._feed:
            self.items = items
            if any(one.id == self._awaited and one.has_video for one in items):
                self._chosen, self._awaited = self._awaited, None

    async def _try(self, action: Any) -> None:  # noqa: ANN401 - an awaitable of whatever
        self.refusal = ""
        try:
            await action
        except LabError as error:
            self.refusal = str(error)
        await self._read()
        self._on_change()
