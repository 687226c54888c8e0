"""`/write` and `/write/<name>`: write an environment, have it checked, and keep it in versions."""

from collections.abc import Sequence
from urllib.parse import quote

from nicegui import events, ui

from app.accounts.errors import AccessError
from app.accounts.visitors import Visitor
from app.authoring.environments.custom_environments import (
    LONGEST_CODE,
    CustomEnvironment,
    SpoiltEnvironmentError,
)
from app.authoring.environments.template import TEMPLATE
from app.code_check.kinds import CodeKind
from app.code_check.problems import Problem
from app.core.errors import InputError
from app.lab import Lab
from app.protocol import messages
from components.base.buttons import compact_button, primary_button, quiet_button
from components.base.dialogs import answer_to
from components.base.panel import EmptyState, panel
from components.base.refusal import Refusal
from components.base.times import moment
from components.code_editor.code_editor import CodeEditor, Handlers
from components.environments.environment_findings import EnvironmentFindings
from pages.layout import PATIENCE_S, frame
from pages.visiting import this_visitor
from storage.records.runs import Visibility

_TITLE = "Write an environment"
_INPUT = "dense outlined hide-bottom-space"


def register(lab: Lab) -> None:
    """Add the pages to the site."""

    @ui.page("/write", response_timeout=PATIENCE_S)
    async def new_page() -> None:
        await _draw(lab, None)

    @ui.page("/write/{name}", response_timeout=PATIENCE_S)
    async def known_page(name: str) -> None:
        await _draw(lab, name)


async def _draw(lab: Lab, name: str | None) -> None:
    visitor = this_visitor()
    refusal = await lab.code.refusal(visitor)
    with frame(_TITLE, lab, sandbox=await lab.sandbox()):
        try:
            known = None if name is None else lab.custom.get(visitor, name)
        except AccessError as error:
            with panel(_TITLE):
                EmptyState(str(error), "It was deleted, or isn't shared with you.")
            return
        WritePage(lab, visitor, known, refusal)


class WritePage:
    """One visit: the code, what its check found, and the versions that are kept."""

    def __init__(
        self,
        lab: Lab,
        visitor: Visitor,
        known: CustomEnvironment | None,
        refusal: str | None,
    ) -> None:
        self._lab = lab
        self._custom = lab.custom
        self._visitor = visitor
        self._known = known
        self._found: Sequence[messages.Finding] = ()
        self._may_write = refusal is None and (known is None or lab.custom.changes(visitor, known))
        with ui.element("div").classes("lab-tryout-columns"):
            with ui.element("div").classes("lab-column"):
                self._code_panel(refusal)
            with ui.element("div").classes("lab-column"):
                with panel("Check", place="check"):
                    self._findings = EnvironmentFindings(self._editor.reveal)
                    self._show_findings()
                with panel("Versions", place="kept"):
                    self._versions = ui.element("div").classes("lab-stack")
        self._show_versions()

    def _code_panel(self, refusal: str | None) -> None:
        with panel(self._known.name if self._known else _TITLE):
            if refusal is not None:
                ui.label(refusal).classes("lab-error")
            ui.label(
                "One file of Python with one class that extends gymnasium.Env. It runs in a locked "
                "worker: no files, no network."
            ).classes("lab-small")
            if self._known is None:
                self._name = ui.input("Name, such as my-maze").props(_INPUT).classes("lab-full")
            self._editor = CodeEditor(
                self._known.newest.code if self._known else TEMPLATE,
                label="Code of the environment",
                check=self._lint,
                on=Handlers(save=self._save) if self._may_write else None,
                read_only=not self._may_write,
            )
            self._refusal = Refusal()
            if self._may_write:
                self._buttons()

    def _buttons(self) -> None:
        with ui.element("div").classes("lab-actions"):
            self._keep = primary_button("Check and keep", self._keep_it)
            self._check = compact_button("Check", self._check_it).mark("check")
            upload = ui.upload(
                on_upload=self._uploaded,
                on_rejected=lambda: self._refusal.say("A file may have at most 64 KiB."),
                auto_upload=True,
                max_file_size=LONGEST_CODE,
            )
            upload.props("accept=.py").classes("hidden")
            quiet_button("Choose a file", lambda: upload.run_method("pickFiles"))

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        content = await event.file.read()
        try:
            self._editor.write(content.decode())
        except UnicodeDecodeError:
            self._refusal.say("This isn't a file of text.")

    async def _lint(self, code: str) -> Sequence[Problem]:
        return await self._lab.rewards.lint(code, kind=CodeKind.ENVIRONMENT)

    async def _check_it(self) -> None:
        self._findings.wait()
        self._set_busy(on=True)
        found = await self._refusal.watch(self._custom.check(self._visitor, self._editor.text))
        self._set_busy(on=False)
        self._show(() if found is None else found.findings)

    async def _keep_it(self) -> None:
        self._editor.say(await self._save(self._editor.text))

    async def _save(self, code: str) -> str:
        self._findings.wait()
        self._set_busy(on=True)
        try:
            kept = await self._refusal.watch(self._keep_code(code))
        finally:
            self._set_busy(on=False)
        if kept is None:
            return "Not kept."
        if self._known is None:
            ui.navigate.to(f"/write/{quote(kept.name)}")
        self._known = kept
        self._show_findings()
        self._show_versions()
        return f"Kept as version {kept.newest.number}."

    async def _keep_code(self, code: str) -> CustomEnvironment | None:
        try:
            if self._known is None:
                name = (self._name.value or "").strip()
                self._name.error = None
                return await self._custom.create(self._visitor, name, code)
            return await self._custom.add_version(self._visitor, self._known.name, code)
        except SpoiltEnvironmentError as error:
            self._show(error.findings)
            raise
        except (InputError, AccessError) as error:
            # It wasn't tried, so what was found before is all there is.
            self._findings.show(self._found)
            if self._known is None and isinstance(error, InputError) and error.field == "name":
                self._name.error = str(error)
                return None
            raise

    def _set_busy(self, *, on: bool) -> None:
        for button in (self._keep, self._check):
            button.set_enabled(not on)

    def _show(self, found: Sequence[messages.Finding]) -> None:
        self._found = found
        self._findings.show(found)

    def _show_findings(self) -> None:
        if self._known is not None:
            self._show(self._known.newest.findings)

    def _show_versions(self) -> None:
        self._versions.clear()
        with self._versions:
            if self._known is None:
                EmptyState("Nothing is kept yet", "Each time you keep it, there is a new version.")
                return
            for version in reversed(self._known.versions):
                if version.code:
                    self._version(self._known, version.number)
            if self._may_write:
                self._owner_buttons(self._known)

    def _version(self, known: CustomEnvironment, number: int) -> None:
        version = next(one for one in known.versions if one.number == number)
        env_id = quote(known.id_of(version))
        with ui.element("div").classes("lab-actions"):
            with ui.element("a").props(f'href="/environments/{env_id}"').classes("lab-name"):
                ui.label(f"Version {number}")
            ui.label(moment(version.created_at)).classes("lab-small")
            train = ui.element("a").props(f'href="/train?env={env_id}"')
            train.props(f'aria-label="Train on version {number}"')
            with train.classes("lab-button lab-compact lab-link lab-quiet"):
                ui.label("Train")
            quiet_button("Show its code", lambda: self._editor.write(version.code))

    def _owner_buttons(self, known: CustomEnvironment) -> None:
        with ui.element("div").classes("lab-actions"):
            if self._visitor.person is not None:
                shared = known.visibility is Visibility.EVERYONE
                text = "Keep it to myself" if shared else "Share it with everyone"
                quiet_button(text, self._share)
            quiet_button("Delete it", self._delete)

    async def _share(self) -> None:
        assert self._known is not None
        is_shared = self._known.visibility is Visibility.EVERYONE
        wanted = Visibility.PRIVATE if is_shared else Visibility.EVERYONE
        changed = await self._refusal.watch(
            self._custom.share(self._visitor, self._known.name, wanted)
        )
        if changed is not None:
            self._known = changed
            self._show_versions()

    async def _delete(self) -> None:
        assert self._known is not None
        name = self._known.name
        with ui.dialog() as dialog, ui.card().classes("lab-panel lab-dialog"):
            ui.label(f"Delete {name}?").classes("lab-name")
            ui.label("Runs that used it keep a copy and can go on. New ones can't be made.")
            with ui.element("div").classes("lab-actions"):
                primary_button("Delete", lambda: dialog.submit(True))
                quiet_button("Cancel", dialog.close)
        if not await answer_to(dialog):
            return
        await self._refusal.watch(self._custom.delete(self._visitor, name))
        ui.navigate.to("/")
