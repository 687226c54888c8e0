"""`/environments/<id>`: explore an environment before training on it."""

import time
from urllib.parse import quote

from nicegui import ui

from app.access import Access
from app.accounts import AccessError
from app.authoring.tryouts import Tryout
from app.catalog.environments import CUSTOM_PREFIX, EnvSpec
from app.core import InputError
from app.lab import Lab
from app.protocol import messages
from app.workers import Sandbox
from components.base import EmptyState, page_links, panel
from components.setup import EnvironmentSheet
from components.tryout import DemonstrationList, ScoreBoard, StateView, TryoutPanel
from pages.layout import RESPONSE_TIMEOUT_S, frame
from pages.opener import this_principal
from storage.records import Demonstration, RunFilter

_SHOW_EVERY_S = 0.1
_SCORES_EVERY_S = 2.0


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/environments/{env_id:path}", response_timeout=RESPONSE_TIMEOUT_S)
    async def environment_page(env_id: str) -> None:
        principal = this_principal()
        sandbox = await lab.sandbox()
        try:
            lab.environments.check_sees(principal, env_id)
            spec = await lab.environments.find(env_id, ask_worker=principal.may_work)
        except InputError as error:
            with frame("Environment", lab, sandbox=sandbox), panel("Environment"):
                EmptyState(str(error), "The Train page lists all environments.")
                page_links(("Choose an environment", "/train"), ("All runs", "/runs"))
            return
        await _draw(lab, spec, sandbox)


async def _draw(lab: Lab, spec: EnvSpec, sandbox: Sandbox) -> None:
    principal = this_principal()
    with frame(spec.name, lab, sandbox=sandbox):
        if spec.install_hint is not None:
            _not_installed(spec)
            return
        page = EnvironmentPage(spec, lab, lab.access_for(principal))
    await page.refresh()


def _not_installed(spec: EnvSpec) -> None:
    with ui.element("div").classes("lab-tryout-columns"):
        with panel(spec.name):
            EmptyState(f"{spec.id} isn't installed", "This command installs it:")
            ui.label(spec.install_hint or "").classes("lab-secret")
        with panel("About"):
            EnvironmentSheet(spec)


class EnvironmentPage:
    """The page of one client: frames with controls, and facts about the environment."""

    def __init__(self, spec: EnvSpec, lab: Lab, access: Access) -> None:
        self._spec = spec
        self._principal = access.principal
        self._tryouts = lab.tryouts
        self._demonstrations = lab.demonstrations
        self._access = access
        self._runs = lab.runs
        self._pending: messages.Happened | None = None
        self._shown_at = 0.0
        self._is_announced = False
        with ui.element("div").classes("lab-tryout-columns"):
            with ui.element("div").classes("lab-column"):
                self._main_column()
            with ui.element("div").classes("lab-column"):
                self._side_column()
        ui.timer(_SHOW_EVERY_S, self._show_newest)
        self._scores_timer = ui.timer(_SCORES_EVERY_S, self._show_random, active=False)

    async def refresh(self) -> None:
        """Show the scores and the saved demonstrations."""
        seen = self._access.seen(RunFilter())
        self._scores.show_trained(await self._runs.best(self._spec, seen))
        await self._show_random()
        await self._list_demonstrations()

    def _main_column(self) -> None:
        with panel(self._spec.name, flush=True) as head:
            with head, ui.element("a").classes("lab-train-link lab-button lab-primary") as link:
                ui.label("Train on this environment")
            link.props(f'href="/train?env={quote(self._spec.id)}"')
            if self._spec.code is not None:
                name = self._spec.id.removeprefix(CUSTOM_PREFIX).rpartition("-v")[0]
                with head, ui.element("a").props(f'href="/write/{quote(name)}"') as code:
                    ui.label("Code")
                code.classes("lab-small")
            TryoutPanel(
                self._spec,
                self._principal,
                self._tryouts,
                self._demonstrations,
                on_state=self._state_changed,
                on_saved=self._list_demonstrations,
            )
        with panel("About", place="about"):
            EnvironmentSheet(self._spec)

    def _side_column(self) -> None:
        with panel("State", flush=True, place="state"):
            self._state = StateView(self._spec)
        with panel("Score", flush=True, place="score"):
            self._scores = ScoreBoard(self._spec)
        with panel("Demonstrations", flush=True, place="kept"):
            self._demonstration_list = DemonstrationList(on_delete=self._delete)

    def _state_changed(self, tryout: Tryout, now: messages.Happened) -> None:
        """Show the new state, at most every 0.1 s."""
        self._pending = now
        self._is_announced = tryout.mode == "step"
        self._scores_timer.activate()
        if now.step and (now.terminated or now.truncated) and tryout.mode == "play":
            self._scores.played(now.return_)
        if time.monotonic() - self._shown_at >= _SHOW_EVERY_S:
            self._show_newest()

    def _show_newest(self) -> None:
        if self._pending is not None:
            self._state.show(self._pending, announced=self._is_announced)
            self._pending, self._shown_at = None, time.monotonic()

    async def _show_random(self) -> None:
        score = await self._tryouts.random_scores.get(self._spec.id)
        self._scores.show_random(score)
        if score is not None:
            self._scores_timer.deactivate()

    async def _list_demonstrations(self) -> None:
        self._demonstration_list.show(
            await self._demonstrations.list(self._principal, self._spec.id)
        )

    async def _delete(self, demonstration: Demonstration) -> None:
        try:
            await self._demonstrations.delete(self._principal, demonstration.id)
        except AccessError as error:
            ui.notify(str(error), type="negative")
        await self._list_demonstrations()
