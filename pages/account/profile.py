"""`/profile`: one's own name, picture, password, tokens and sessions."""

from functools import partial

from nicegui import events, ui

from app.accounts.auth.passwords import SHORTEST
from app.accounts.errors import AccountsOffError
from app.accounts.requests import NewToken, ProfileChanges
from app.accounts.users.accounts import Accounts
from app.accounts.users.avatars import LARGEST, Avatars, avatar_url
from app.accounts.users.profiles import Profiles
from app.accounts.visitors import Visitor
from app.lab import Lab
from components.admin.browser_name import browser_name
from components.base.buttons import primary_button, quiet_button
from components.base.panel import EmptyState, panel
from components.base.refusal import Refusal
from components.base.table import Table
from components.base.times import moment
from pages.layout import PATIENCE_S, frame
from pages.visiting import this_visitor
from storage.records.accounts import TokenScope

_INPUT = "dense outlined hide-bottom-space"


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/profile", response_timeout=PATIENCE_S)
    async def profile_page() -> None:
        visitor, sandbox = this_visitor(), await lab.sandbox()
        with (
            frame("Profile", lab, sandbox=sandbox),
            ui.element("div").classes("lab-stack is-narrow"),
        ):
            if visitor.person is None:
                with panel("Profile"):
                    EmptyState("No accounts here", str(AccountsOffError()))
                return
            profiles = lab.accounts.profiles
            _profile_panel(profiles, lab.avatars, visitor)
            _password_panel(profiles, visitor)
            tokens = TokenPanel(profiles, visitor)
            sessions = SessionPanel(profiles, visitor)
            _hugging_face_panel(profiles, visitor)
            await _elsewhere_panel(lab.accounts, visitor)
        await tokens.refresh()
        await sessions.refresh()


def _profile_panel(profiles: Profiles, avatars: Avatars, visitor: Visitor) -> None:
    async def save() -> None:
        if await refusal.watch(_change(profiles, visitor, {"name": name.value or ""})):
            said.set_text("Saved.")

    with panel("Profile"):
        me = visitor.me
        ui.label(f"{me.email} · {me.role}").classes("lab-small")
        picture = AvatarPicker(avatars, visitor)
        name = ui.input("Name", value=me.name).props(f"{_INPUT} autocomplete=name maxlength=100")
        refusal, said = Refusal(), ui.label().classes("lab-small").props('role="status"')
        primary_button("Save", save)
        picture.show()


class AvatarPicker:
    """Shows one's picture and takes another; it is made small in a worker."""

    def __init__(self, avatars: Avatars, visitor: Visitor) -> None:
        self._avatars = avatars
        self._visitor = visitor
        with ui.element("div").classes("lab-actions"):
            self._image = ui.element("img").classes("lab-avatar").props('alt="Your picture"')
            self._upload = ui.upload(
                on_upload=self._take,
                on_rejected=self._too_large,
                auto_upload=True,
                max_file_size=LARGEST,
            )
            self._upload.props("accept=image/png,image/jpeg,image/webp,image/gif").classes("hidden")
            quiet_button("Choose a picture", lambda: self._upload.run_method("pickFiles"))
            self._remove = quiet_button("Remove picture", self._forget)
        self._refusal = Refusal()

    def show(self) -> None:
        """Show the picture as it is now."""
        address = avatar_url(self._visitor.me)
        self._image.set_visibility(address is not None)
        self._remove.set_visibility(address is not None)
        if address is not None:
            self._image._props["src"] = address
            self._image.update()

    async def _take(self, sent: events.UploadEventArguments) -> None:
        content = await sent.file.read()
        await self._refusal.watch(self._avatars.change(self._visitor, content))
        self._upload.reset()
        self.show()

    def _too_large(self) -> None:
        self._refusal.say("A picture may have at most 1 MiB.")

    async def _forget(self) -> None:
        await self._refusal.watch(self._avatars.remove(self._visitor))
        self.show()


def _password_panel(profiles: Profiles, visitor: Visitor) -> None:
    async def save() -> None:
        values = {"password": new.value or "", "current_password": current.value or None}
        if await refusal.watch(_change(profiles, visitor, values)):
            current.set_value("")
            new.set_value("")
            said.set_text("The password was changed. You are signed out everywhere else.")

    with panel("Password"):
        current = _secret("Current password", "current-password")
        current.set_visibility(visitor.me.password_hash is not None)
        new = _secret(f"New password (at least {SHORTEST} characters)", "new-password")
        refusal, said = Refusal(), ui.label().classes("lab-small").props('role="status"')
        primary_button("Change password", save)


class TokenPanel:
    """One's tokens; a new one is shown once."""

    def __init__(self, profiles: Profiles, visitor: Visitor) -> None:
        self._profiles = profiles
        self._visitor = visitor
        with panel("API tokens"):
            ui.label(
                "Programs show a token instead of a password: Authorization: Bearer ..."
            ).classes("lab-small")
            with ui.element("div").classes("lab-actions"):
                self._name = ui.input("Name of the token").props(f"{_INPUT} maxlength=100")
                self._scope = ui.select(list(map(str, TokenScope)), value="read", label="Scope")
                self._scope.props(_INPUT).classes("lab-tiny")
                primary_button("Make token", self._make)
            self._refusal = Refusal()
            with ui.element("div").classes("lab-stack") as self._fresh:
                ui.label("Copy it now: it is never shown again.").classes("lab-small")
                self._shown = ui.label().classes("lab-secret").mark("fresh-token")
            self._fresh.set_visibility(False)
            self._table = Table("Name", "Scope", "Made", "Last used", "")

    async def refresh(self) -> None:
        """Show the tokens as they are now."""
        found = await self._profiles.tokens(self._visitor)
        self._table.element.set_visibility(bool(found))
        self._table.body.clear()
        with self._table.body:
            for token in found:
                with self._table.row():
                    self._table.text("", token.name, classes="lab-name is-name")
                    self._table.text("Scope", token.scope)
                    self._table.text("Made", moment(token.created_at))
                    self._table.text("Last used", moment(token.last_used_at))
                    with self._table.cell("", classes="is-actions"):
                        quiet_button("Revoke", partial(self._revoke, token.id), label=token.name)

    async def _make(self) -> None:
        async def make() -> str:
            wanted = NewToken.model_validate({"name": self._name.value, "scope": self._scope.value})
            return (await self._profiles.make_token(self._visitor, wanted))[1]

        shown = await self._refusal.watch(make())
        self._fresh.set_visibility(shown is not None)
        if shown is not None:
            self._shown.set_text(shown)
            self._name.set_value("")
            await self.refresh()

    async def _revoke(self, token_id: str) -> None:
        await self._refusal.watch(self._profiles.revoke_token(self._visitor, token_id))
        await self._refusal.watch(self.refresh())


class SessionPanel:
    """Where one is signed in."""

    def __init__(self, profiles: Profiles, visitor: Visitor) -> None:
        self._profiles = profiles
        self._visitor = visitor
        with panel("Sessions", flush=True):
            self._table = Table("Browser", "Address", "Signed in", "Last seen", "")
            self._refusal = Refusal()

    async def refresh(self) -> None:
        """Show the sessions as they are now."""
        found = await self._profiles.sessions(self._visitor)
        self._table.body.clear()
        with self._table.body:
            for session in found:
                with self._table.row():
                    self._table.text("", browser_name(session.browser), classes="lab-name is-name")
                    self._table.text("Address", session.address)
                    self._table.text("Signed in", moment(session.created_at))
                    self._table.text("Last seen", moment(session.last_seen_at))
                    with self._table.cell("", classes="is-actions"):
                        self._action(session.id)

    def _action(self, session_id: str) -> None:
        if session_id == self._visitor.shown.session_id:
            ui.label("this one").classes("lab-small")
        else:
            quiet_button("End", lambda: self._end(session_id))

    async def _end(self, session_id: str) -> None:
        await self._refusal.watch(self._profiles.end_session(self._visitor, session_id))
        await self._refusal.watch(self.refresh())


def _hugging_face_panel(profiles: Profiles, visitor: Visitor) -> None:
    def show() -> None:
        has_one = visitor.me.hf_token is not None
        state.set_text(
            "A token is kept, encrypted. It can't be shown." if has_one else "No token is kept."
        )
        remove.set_visibility(has_one)

    async def save(value: str | None) -> None:
        if await refusal.watch(_change(profiles, visitor, {"hf_token": value})):
            token.set_value("")
            show()

    with panel("Hugging Face"):
        state = ui.label().classes("lab-small").props('role="status"')
        token = _secret("Hugging Face token", "off")
        refusal = Refusal()
        with ui.element("div").classes("lab-actions"):
            primary_button("Keep token", lambda: save(token.value or ""))
            remove = quiet_button("Remove token", lambda: save(None))
        show()


async def _elsewhere_panel(accounts: Accounts, visitor: Visitor) -> None:
    """Show which accounts elsewhere stand for this one, and offer those that don't yet."""
    providers = accounts.openid.providers
    if not providers:
        return
    connected = {one.provider for one in await accounts.profiles.identities(visitor)}
    with panel("Accounts elsewhere"):
        for provider in providers:
            if provider.id in connected:
                ui.label(f"{provider.name}: connected").classes("lab-mono")
            else:
                ui.link(f"Connect {provider.name}", f"/auth/{provider.id}?next=/profile")
        ui.label("To connect one, you are asked for your password here.").classes("lab-small")


async def _change(profiles: Profiles, visitor: Visitor, values: dict[str, str | None]) -> bool:
    await profiles.change(visitor, ProfileChanges.model_validate(values))
    return True


def _secret(label: str, autocomplete: str) -> ui.input:
    field = ui.input(label, password=True, password_toggle_button=True)
    field.props(f"{_INPUT} autocomplete={autocomplete}")
    return field
