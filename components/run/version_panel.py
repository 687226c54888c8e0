"""The versions of a run's model: download, pin, evaluate, train from; and exports of the run."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from nicegui import ui

from app.access import Access
from app.accounts import AccessError
from app.evaluation import EPISODES
from app.run_config import RunRequest, config_of, derive
from app.runs.state import RunFeed
from app.sharing.bundle import bundle_name
from app.sharing.sharing import Sharing
from app.sharing.versions import Version
from components.base import EmptyState, Refusal, SteadyRows, file_size, format_number, quiet_button
from components.evaluation import EvaluationState
from components.run.publish_dialog import PublicationLine, ask_to_publish, version_title
from storage import LabError, RunNotFoundError
from storage.records import RunRecord

_REFRESH_EVERY_S = 5.0
_SOURCES = {
    "evaluation": "evaluated",
    "selection": "in the evaluation that selected it, which overstates it",
    "training": "in training",
}
_FILES = {
    "artifacts/bundle.zip": "Whole run",
    "export?format=csv": "Metrics as CSV",
    "export?format=tensorboard": "For TensorBoard",
}

StartRun = Callable[[RunRequest], Awaitable[None]]


class _Row(NamedTuple):
    """A version, and what the user may do with it."""

    version: Version
    run_id: str
    may_change: bool


class VersionPanel:
    """One row per version, newest first; redraws only what changed."""

    def __init__(
        self, sharing: Sharing, access: Access, state: EvaluationState, *, on_train: StartRun
    ) -> None:
        self._sharing = sharing
        self._access = access
        self._state = state
        self._on_train = on_train
        self._feed: RunFeed | None = None
        self._empty = EmptyState(
            "No versions yet",
            "The first checkpoint is saved when training starts, the model when it ends.",
        )
        box = ui.element("ul").classes("lab-tests").props('aria-label="Versions"')
        self._rows = SteadyRows(box, self._row)
        self._refusal = Refusal()
        self._files = ui.element("div").classes("lab-files")
        self._published = PublicationLine()
        self._dialogs = ui.element()
        sharing.changed.subscribe(self._changed)
        state.changed.subscribe(self._changed)
        access.run_changed.subscribe(self._run_changed)
        ui.timer(_REFRESH_EVERY_S, self._refresh_if_live)

    async def follow(self, feed: RunFeed | None) -> None:
        """Show the versions of another run."""
        self._feed = feed
        self._refusal.say("")
        self._link_files(feed.run if feed else None)
        await self._refresh()

    async def _changed(self, run_id: str) -> None:
        if self._feed is not None and run_id == self._feed.run.id:
            await self._refresh()

    async def _run_changed(self, run: RunRecord) -> None:
        await self._changed(run.id)

    async def _refresh_if_live(self) -> None:
        if self._feed is not None and self._feed.run.status.has_worker:
            await self._refresh()

    async def _refresh(self) -> None:
        feed, versions = self._feed, list[Version]()
        if feed is not None and not feed.is_deleted:
            try:
                versions = [*await self._sharing.versions(await self._access.visible(feed.run.id))]
            except (AccessError, RunNotFoundError):
                versions = []
        if feed is self._feed:
            self._draw(feed.run if feed else None, versions)
            await self._show_publication(feed)

    def _draw(self, run: RunRecord | None, versions: Sequence[Version]) -> None:
        self._empty.set_visibility(not versions)
        may_change = run is not None and self._access.principal.changes(run)
        self._rows.show(
            _Row(version, run.id, may_change) for version in versions if run is not None
        )

    def _row(self, row: _Row) -> None:
        version, title = row.version, version_title(row.version)
        with ui.element("li"):
            with ui.element("div").classes("lab-tests-words"):
                ui.label(title).classes("lab-mono")
                ui.label(_facts(version)).classes("lab-small")
            with ui.element("div").classes("lab-row-actions"):
                _download(f"/api/runs/{row.run_id}/artifacts/{version.name}", "Download", title)
                if not row.may_change:
                    return
                if version.kind == "checkpoint":
                    pin = "Unpin" if version.pinned else "Pin"
                    quiet_button(pin, lambda: self._pin(row), label=title)
                quiet_button("Test", lambda: self._evaluate(version), label=title)
                quiet_button("Train from here", lambda: self._train_from(version), label=title)

    async def _pin(self, row: _Row) -> None:
        await self._try(self._pin_version(row.run_id, row.version))

    async def _pin_version(self, run_id: str, version: Version) -> None:
        run = await self._access.changeable(run_id, "run_version_pinned")
        await self._sharing.pin(run, version.name, on=not version.pinned)

    async def _evaluate(self, version: Version) -> None:
        await self._state.start(EPISODES, checkpoint=version.address)

    async def _train_from(self, version: Version) -> None:
        if self._feed is None:
            return
        run = self._feed.run
        source = run.id if version.address is None else f"{run.id}@{version.address}"
        await self._try(self._train_with(run, source, at=version.timesteps))

    async def _train_with(self, run: RunRecord, source: str, *, at: int | None) -> None:
        await self._on_train(derive(config_of(run), {"init_from": source}, at=at))

    async def _try(self, action: Awaitable[None]) -> None:
        self._refusal.say("")
        try:
            await action
        except LabError as error:
            self._refusal.say(str(error))

    async def _show_publication(self, feed: RunFeed | None) -> None:
        try:
            publication = None
            if feed is not None:
                run = await self._access.visible(feed.run.id)
                publication = await self._sharing.publishing.get(run)
        except (AccessError, RunNotFoundError):
            publication = None
        if feed is self._feed:
            self._published.show(publication)

    async def _save_onnx(self, run: RunRecord) -> None:
        content = await self._sharing.exports.onnx(await self._access.visible(run.id))
        ui.download.content(content, bundle_name(run).replace(".rllab.zip", "-onnx.zip"))

    async def _publish(self, run: RunRecord) -> None:
        # Not in the list of files: it is redrawn when another run is shown.
        with self._dialogs:
            await ask_to_publish(run, self._access, self._sharing.publishing)

    def _link_files(self, run: RunRecord | None) -> None:
        self._files.clear()
        if run is not None:
            with self._files:
                for address, text in _FILES.items():
                    _download(f"/api/runs/{run.id}/{address}", text, "of this run")
                quiet_button("Policy as ONNX", lambda: self._try(self._save_onnx(run)))
                if self._access.principal.changes(run):
                    quiet_button("Push to Hub", lambda: self._publish(run))


def _facts(version: Version) -> str:
    source = f" ({_SOURCES[version.score_from]})" if version.score_from else ""
    return f"Score {format_number(version.score, 1)}{source} · {file_size(version.size)}"


def _download(address: str, text: str, title: str) -> None:
    link = ui.element("a").classes("lab-small").props(f'href="{address}" download')
    link._props["aria-label"] = f"{text} {title}"
    with link:
        ui.label(text).classes("lab-inline")
