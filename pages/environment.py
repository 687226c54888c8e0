"""`/environments/<id>`: get to know an environment before anything is trained on it."""

import time
from urllib.parse import quote

from nicegui import ui

from app.access.run_access import RunAccess
from app.accounts.errors import AccessError
from app.authoring.tryouts.personal_tryouts import PersonalTryouts
from app.authoring.tryouts.tryout import Tryout
from app.catalog.environments.catalogue import CUSTOM
from app.catalog.environments.spec import EnvSpec
from app.core.errors import InputError
from app.lab import Lab
from app.protocol import messages
from app.workers.sandbox_check import Sandbox
from components.base.panel import EmptyState, panel, ways_out
from components.setup.environment_sheet import EnvironmentSheet
from components.tryout.demonstration_list import DemonstrationList
from components.tryout.score_board import ScoreBoard
from components.tryout.state_view import StateView
from components.tryout.tryout_panel import TryoutPanel
from pages.layout import PATIENCE_S, frame
from pages.visiting import this_visitor
from storage.files.demonstrations import Demonstration

_SHOW_EVERY_S = 0.1
_SCORES_EVERY_S = 2.0


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/environments/{env_id:path}", response_timeout=PATIENCE_S)
    async def environment_page(env_id: str) -> None:
        visitor = this_visitor()
        sandbox = await lab.sandbox()
        try:
            lab.environments.check_sees(visitor, env_id)
            spec = await lab.environments.find(env_id, may_ask=visitor.may_work)
        except InputError as error:
            with frame("Environment", lab, sandbox=sandbox), panel("Environment"):
                EmptyState(str(error), "The train page lists all that the lab knows.")
                ways_out(("Choose an environment", "/train"), ("All runs", "/runs"))
            return
        await _draw(lab, spec, sandbox)


async def _draw(lab: Lab, spec: EnvSpec, sandbox: Sandbox) -> None:
    visitor = this_visitor()
    with frame(spec.name, lab, sandbox=sandbox):
        if spec.install_hint is not None:
            _not_installed(spec)
            return
        page = EnvironmentPage(spec, lab.tryouts_for(visitor), lab.trainer_for(visitor))
    await page.refresh()


def _not_installed(spec: EnvSpec) -> None:
    with ui.element("div").classes("lab-tryout-columns"):
        with panel(spec.name):
            EmptyState(f"{spec.id} isn't installed", "This command adds it:")
            ui.label(spec.install_hint or "").classes("lab-secret")
        with panel("About"):
            EnvironmentSheet(spec)


class EnvironmentPage:
    """One visit: the stage with its controls, and what is known beside it."""

    def __init__(self, spec: EnvSpec, mine: PersonalTryouts, trainer: RunAccess) -> None:
        self._spec = spec
        self._mine = mine
        self._trainer = trainer
        self._unseen: messages.Happened | None = None
        self._shown_at = 0.0
        self._is_spoken = False
        with ui.element("div").classes("lab-tryout-columns"):
            with ui.element("div").classes("lab-column"):
                self._stage_column()
            with ui.element("div").classes("lab-column"):
                self._side_column()
        ui.timer(_SHOW_EVERY_S, self._show_newest)
        self._scores_timer = ui.timer(_SCORES_EVERY_S, self._show_random, active=False)

    async def refresh(self) -> None:
        """Show what was measured and kept."""
        self._scores.show_trained(await self._trainer.best(self._spec))
        await self._show_random()
        await self._list_kept()

    def _stage_column(self) -> None:
        with panel(self._spec.name, flush=True) as head:
            with head, ui.element("a").classes("lab-train-link lab-button lab-primary") as link:
                ui.label("Train on it")
            link.props(f'href="/train?env={quote(self._spec.id)}"')
            if self._spec.code is not None:
                name = self._spec.id.removeprefix(CUSTOM).rpartition("-v")[0]
                with head, ui.element("a").props(f'href="/write/{quote(name)}"') as code:
                    ui.label("Its code")
                code.classes("lab-small")
            TryoutPanel(self._spec, self._mine, on_moment=self._moment, on_kept=self._list_kept)
        with panel("About", place="about"):
            EnvironmentSheet(self._spec)

    def _side_column(self) -> None:
        with panel("State", flush=True, place="state"):
            self._state = StateView(self._spec)
        with panel("Score", flush=True, place="score"):
            self._scores = ScoreBoard(self._spec)
        with panel("Demonstrations", flush=True, place="kept"):
            self._kept = DemonstrationList(on_delete=self._delete)

    def _moment(self, tryout: Tryout, now: messages.Happened) -> None:
        """Show a moment, though not more often than anybody can read."""
        self._unseen = now
        self._is_spoken = tryout.mode == "step"
        self._scores_timer.activate()
        if now.step and (now.terminated or now.truncated) and tryout.mode == "play":
            self._scores.played(now.return_)
        if time.monotonic() - self._shown_at >= _SHOW_EVERY_S:
            self._show_newest()

    def _show_newest(self) -> None:
        if self._unseen is not None:
            self._state.show(self._unseen, spoken=self._is_spoken)
            self._unseen, self._shown_at = None, time.monotonic()

    async def _show_random(self) -> None:
        score = await self._mine.random_score(self._spec.id)
        self._scores.show_random(score)
        if score is not None:
            self._scores_timer.deactivate()

    async def _list_kept(self) -> None:
        self._kept.show(await self._mine.kept(self._spec.id))

    async def _delete(self, kept: Demonstration) -> None:
        try:
            await self._mine.delete_kept(kept.id)
        except AccessError as error:
            ui.notify(str(error), type="negative")
        await self._list_kept()
