"""The versions of a run's model, to download, keep, test and begin with, and the run as a file."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from nicegui import ui

from app.access.run_access import RunAccess
from app.accounts.errors import AccessError
from app.evaluation.evaluation import EPISODES
from app.run_config.config import RunRequest
from app.run_config.derive import derive
from app.runs.state.feed import RunFeed
from app.sharing.bundle import bundle_name
from app.sharing.versions import Version
from components.base.buttons import quiet_button
from components.base.metrics import format_number
from components.base.panel import EmptyState
from components.base.refusal import Refusal
from components.base.sizes import file_size
from components.base.steady_rows import SteadyRows
from components.evaluation.evaluation_desk import EvaluationDesk
from components.run.publish_dialog import PublicationLine, ask_to_publish
from storage.errors import LabError, RunNotFoundError
from storage.records.runs import RunRecord

_LOOK_EVERY_S = 5.0
_KINDS = {"final": "Final model", "best": "Best model", "checkpoint": "Checkpoint"}
_SOURCES = {"evaluation": "tested", "training": "in training"}
_FILES = {
    "artifacts/bundle.zip": "Whole run",
    "export?format=csv": "Metrics as CSV",
    "export?format=tensorboard": "For TensorBoard",
}

Begin = Callable[[RunRequest], Awaitable[None]]


class _Row(NamedTuple):
    """A version as one person sees it."""

    version: Version
    run_id: str
    may_change: bool


class VersionPanel:
    """One row per version, newest first; nothing is drawn anew unless it changed."""

    def __init__(self, trainer: RunAccess, desk: EvaluationDesk, *, on_begin: Begin) -> None:
        self._trainer = trainer
        self._desk = desk
        self._on_begin = on_begin
        self._feed: RunFeed | None = None
        self._empty = EmptyState(
            "No version yet", "The first checkpoint comes as training begins, the model at its end."
        )
        box = ui.element("ul").classes("lab-tests").props('aria-label="Versions"')
        self._rows = SteadyRows(box, self._row)
        self._refusal = Refusal()
        self._files = ui.element("div").classes("lab-files")
        self._published = PublicationLine()
        self._dialogs = ui.element()
        trainer.sharing.changed.subscribe(self._changed)
        trainer.evaluations.changed.subscribe(self._changed)
        trainer.run_changed.subscribe(self._run_changed)
        ui.timer(_LOOK_EVERY_S, self._look_if_live)

    async def follow(self, feed: RunFeed | None) -> None:
        """Show the versions of another run."""
        self._feed = feed
        self._refusal.say("")
        self._link_files(feed.run if feed else None)
        await self._look()

    async def _changed(self, run_id: str) -> None:
        if self._feed is not None and run_id == self._feed.run.id:
            await self._look()

    async def _run_changed(self, run: RunRecord) -> None:
        await self._changed(run.id)

    async def _look_if_live(self) -> None:
        if self._feed is not None and self._feed.run.status.has_worker:
            await self._look()

    async def _look(self) -> None:
        feed, found = self._feed, list[Version]()
        if feed is not None and not feed.is_deleted:
            try:
                found = [*await self._trainer.sharing.versions(feed.run.id)]
            except (AccessError, RunNotFoundError):
                found = []
        if feed is self._feed:
            self._draw(feed.run if feed else None, found)
            await self._show_publication(feed)

    def _draw(self, run: RunRecord | None, versions: Sequence[Version]) -> None:
        self._empty.set_visibility(not versions)
        may_change = run is not None and self._trainer.visitor.changes(run)
        self._rows.show(
            _Row(version, run.id, may_change) for version in versions if run is not None
        )

    def _row(self, row: _Row) -> None:
        version, about = row.version, _about(row.version)
        with ui.element("li"):
            with ui.element("div").classes("lab-tests-words"):
                ui.label(about).classes("lab-mono")
                ui.label(_words(version)).classes("lab-small")
            with ui.element("div").classes("lab-row-actions"):
                _download(f"/api/runs/{row.run_id}/artifacts/{version.name}", "Download", about)
                if not row.may_change:
                    return
                if version.kind == "checkpoint":
                    pin = "Unpin" if version.pinned else "Pin"
                    quiet_button(pin, lambda: self._pin(row), label=about)
                quiet_button("Test", lambda: self._test(version), label=about)
                quiet_button("Train from here", lambda: self._begin(version), label=about)

    async def _pin(self, row: _Row) -> None:
        name, is_pinned = row.version.name, row.version.pinned
        await self._try(self._trainer.sharing.pin(row.run_id, name, on=not is_pinned))

    async def _test(self, version: Version) -> None:
        await self._desk.start(EPISODES, checkpoint=version.address)

    async def _begin(self, version: Version) -> None:
        if self._feed is None:
            return
        run = self._feed.run
        source = run.id if version.address is None else f"{run.id}@{version.address}"
        changes = {"init_from": source}
        await self._try(self._on_begin(derive(run.config, changes, at=version.timesteps)))

    async def _try(self, wish: Awaitable[None]) -> None:
        self._refusal.say("")
        try:
            await wish
        except LabError as error:
            self._refusal.say(str(error))

    async def _show_publication(self, feed: RunFeed | None) -> None:
        try:
            sharing = self._trainer.sharing
            found = None if feed is None else await sharing.publication(feed.run.id)
        except (AccessError, RunNotFoundError):
            found = None
        if feed is self._feed:
            self._published.show(found)

    async def _save_onnx(self, run: RunRecord) -> None:
        content = await self._trainer.sharing.onnx(run.id)
        ui.download.content(content, bundle_name(run).replace(".rllab.zip", "-onnx.zip"))

    async def _publish(self, run: RunRecord) -> None:
        # Not in the list of files: it is drawn anew when another run is on stage.
        with self._dialogs:
            await ask_to_publish(run, self._trainer.sharing)

    def _link_files(self, run: RunRecord | None) -> None:
        self._files.clear()
        if run is not None:
            with self._files:
                for address, text in _FILES.items():
                    _download(f"/api/runs/{run.id}/{address}", text, "of this run")
                quiet_button("Policy as ONNX", lambda: self._try(self._save_onnx(run)))
                if self._trainer.visitor.changes(run):
                    quiet_button("Push to Hub", lambda: self._publish(run))


def _about(version: Version) -> str:
    step = "-" if version.timesteps is None else f"{version.timesteps:,}"
    pinned = " · pinned" if version.pinned else ""
    return f"{_KINDS[version.kind]} · step {step}{pinned}"


def _words(version: Version) -> str:
    source = f" ({_SOURCES[version.score_from]})" if version.score_from else ""
    return f"Score {format_number(version.score, 1)}{source} · {file_size(version.size)}"


def _download(address: str, text: str, about: str) -> None:
    link = ui.element("a").classes("lab-small").props(f'href="{address}" download')
    link._props["aria-label"] = f"{text} {about}"
    with link:
        ui.label(text).classes("lab-inline")
