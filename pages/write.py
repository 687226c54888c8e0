"""`/write` and `/write/<name>`: write, check and save versions of a custom environment."""

from collections.abc import Sequence
from urllib.parse import quote

from nicegui import events, ui

from app.accounts import AccessError, Principal
from app.authoring.environments import (
    MAX_ENVIRONMENT_CODE,
    TEMPLATE,
    CustomEnvironment,
    InvalidEnvironmentError,
)
from app.code_check import CodeKind, Problem
from app.core import InputError
from app.lab import Lab
from app.protocol import messages
from components.base import (
    EmptyState,
    Refusal,
    answer_to,
    compact_button,
    format_time,
    panel,
    primary_button,
    quiet_button,
)
from components.code_editor import CodeEditor, Handlers
from components.environments import EnvironmentFindings
from pages.layout import RESPONSE_TIMEOUT_S, frame
from pages.opener import this_principal
from storage.records import Visibility

_TITLE = "Write an environment"
_INPUT = "dense outlined hide-bottom-space"


def register(lab: Lab) -> None:
    """Add the pages to the site."""

    @ui.page("/write", response_timeout=RESPONSE_TIMEOUT_S)
    async def new_page() -> None:
        await _draw(lab, None)

    @ui.page("/write/{name}", response_timeout=RESPONSE_TIMEOUT_S)
    async def known_page(name: str) -> None:
        await _draw(lab, name)


async def _draw(lab: Lab, name: str | None) -> None:
    principal = this_principal()
    refusal = await lab.code.refusal(principal)
    with frame(_TITLE, lab, sandbox=await lab.sandbox()):
        try:
            environment = None if name is None else lab.custom.get(principal, name)
        except AccessError as error:
            with panel(_TITLE):
                EmptyState(str(error), "It was deleted, or isn't shared with you.")
            return
        WritePage(lab, principal, environment, refusal)


class WritePage:
    """The page of one client: the code, the findings of its check, and the saved versions."""

    def __init__(
        self,
        lab: Lab,
        principal: Principal,
        environment: CustomEnvironment | None,
        refusal: str | None,
    ) -> None:
        self._lab = lab
        self._custom = lab.custom
        self._principal = principal
        self._environment = environment
        self._shown_findings: Sequence[messages.Finding] = ()
        self._may_write = refusal is None and (
            environment is None or principal.changes(environment)
        )
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
        with panel(self._environment.name if self._environment else _TITLE):
            if refusal is not None:
                ui.label(refusal).classes("lab-error")
            ui.label(
                "One Python file with one class that extends gymnasium.Env. It runs in a sandboxed "
                "worker: no files, no network."
            ).classes("lab-small")
            if self._environment is None:
                self._name = ui.input("Name, such as my-maze").props(_INPUT).classes("lab-full")
            self._editor = CodeEditor(
                self._environment.newest.code if self._environment else TEMPLATE,
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
            self._save_button = primary_button("Check and save", self._save_pressed)
            self._check_button = compact_button("Check", self._check_pressed).mark("check")
            upload = ui.upload(
                on_upload=self._uploaded,
                on_rejected=lambda: self._refusal.say("A file may have at most 64 KiB."),
                auto_upload=True,
                max_file_size=MAX_ENVIRONMENT_CODE,
            )
            upload.props("accept=.py").classes("hidden")
            quiet_button("Choose a file", lambda: upload.run_method("pickFiles"))

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        content = await event.file.read()
        try:
            self._editor.write(content.decode())
        except UnicodeDecodeError:
            self._refusal.say("This is not a text file.")

    async def _lint(self, code: str) -> Sequence[Problem]:
        return await self._lab.rewards.lint(code, kind=CodeKind.ENVIRONMENT)

    async def _check_pressed(self) -> None:
        self._findings.wait()
        self._set_busy(on=True)
        result = await self._refusal.watch(self._custom.check(self._principal, self._editor.text))
        self._set_busy(on=False)
        self._show(() if result is None else result.findings)

    async def _save_pressed(self) -> None:
        self._editor.say(await self._save(self._editor.text))

    async def _save(self, code: str) -> str:
        self._findings.wait()
        self._set_busy(on=True)
        try:
            saved = await self._refusal.watch(self._save_code(code))
        finally:
            self._set_busy(on=False)
        if saved is None:
            return "Not saved."
        if self._environment is None:
            ui.navigate.to(f"/write/{quote(saved.name)}")
        self._environment = saved
        self._show_findings()
        self._show_versions()
        return f"Saved as version {saved.newest.number}."

    async def _save_code(self, code: str) -> CustomEnvironment | None:
        try:
            if self._environment is None:
                name = (self._name.value or "").strip()
                self._name.error = None
                return await self._custom.create(self._principal, name, code)
            return await self._custom.add_version(self._principal, self._environment.name, code)
        except InvalidEnvironmentError as error:
            self._show(error.findings)
            raise
        except (InputError, AccessError) as error:
            # The code wasn't checked: keep showing the earlier findings.
            self._findings.show(self._shown_findings)
            if (
                self._environment is None
                and isinstance(error, InputError)
                and error.field == "name"
            ):
                self._name.error = str(error)
                return None
            raise

    def _set_busy(self, *, on: bool) -> None:
        for button in (self._save_button, self._check_button):
            button.set_enabled(not on)

    def _show(self, findings: Sequence[messages.Finding]) -> None:
        self._shown_findings = findings
        self._findings.show(findings)

    def _show_findings(self) -> None:
        if self._environment is not None:
            self._show(self._environment.newest.findings)

    def _show_versions(self) -> None:
        self._versions.clear()
        with self._versions:
            if self._environment is None:
                EmptyState("No versions yet", "Each save creates a new version.")
                return
            for version in reversed(self._environment.versions):
                if version.code:
                    self._version(self._environment, version.number)
            if self._may_write:
                self._owner_buttons(self._environment)

    def _version(self, environment: CustomEnvironment, number: int) -> None:
        version = next(one for one in environment.versions if one.number == number)
        env_id = quote(environment.id_of(version))
        with ui.element("div").classes("lab-actions"):
            with ui.element("a").props(f'href="/environments/{env_id}"').classes("lab-name"):
                ui.label(f"Version {number}")
            ui.label(format_time(version.created_at)).classes("lab-small")
            train = ui.element("a").props(f'href="/train?env={env_id}"')
            train.props(f'aria-label="Train on version {number}"')
            with train.classes("lab-button lab-compact lab-link lab-quiet"):
                ui.label("Train")
            quiet_button("Show code", lambda: self._editor.write(version.code))

    def _owner_buttons(self, environment: CustomEnvironment) -> None:
        with ui.element("div").classes("lab-actions"):
            if self._principal.user is not None:
                shared = environment.visibility is Visibility.EVERYONE
                text = "Make private" if shared else "Share with everyone"
                quiet_button(text, self._share)
            quiet_button("Delete environment", self._delete)

    async def _share(self) -> None:
        assert self._environment is not None
        is_shared = self._environment.visibility is Visibility.EVERYONE
        visibility = Visibility.PRIVATE if is_shared else Visibility.EVERYONE
        changed = await self._refusal.watch(
            self._custom.share(self._principal, self._environment.name, visibility)
        )
        if changed is not None:
            self._environment = changed
            self._show_versions()

    async def _delete(self) -> None:
        assert self._environment is not None
        name = self._environment.name
        with ui.dialog() as dialog, ui.card().classes("lab-panel lab-dialog"):
            ui.label(f"Delete {name}?").classes("lab-name")
            ui.label("Runs that used it keep a copy and can be resumed. New runs can't be created.")
            with ui.element("div").classes("lab-actions"):
                primary_button("Delete", lambda: dialog.submit(True))
                quiet_button("Cancel", dialog.close)
        if not await answer_to(dialog):
            return
        await self._refusal.watch(self._custom.delete(self._principal, name))
        ui.navigate.to("/")
