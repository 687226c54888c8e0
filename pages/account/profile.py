"""`/profile`: the user's name, picture, password, tokens and sessions."""

from functools import partial

from nicegui import events, ui

from app.accounts import AccountsOffError, NewToken, Principal, ProfileChanges
from app.accounts.auth import MIN_PASSWORD_LENGTH
from app.accounts.users import MAX_AVATAR_BYTES, Accounts, Avatars, Profiles, avatar_url
from app.lab import Lab
from components.admin import browser_name
from components.base import (
    EmptyState,
    Refusal,
    Table,
    format_time,
    panel,
    primary_button,
    quiet_button,
)
from pages.layout import RESPONSE_TIMEOUT_S, frame
from pages.opener import this_principal
from storage.records import TokenScope

_INPUT = "dense outlined hide-bottom-space"


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/profile", response_timeout=RESPONSE_TIMEOUT_S)
    async def profile_page() -> None:
        principal, sandbox = this_principal(), await lab.sandbox()
        with (
            frame("Profile", lab, sandbox=sandbox),
            ui.element("div").classes("lab-stack is-narrow"),
        ):
            if principal.user is None:
                with panel("Profile"):
                    EmptyState("This server has no accounts", str(AccountsOffError()))
                return
            profiles = lab.accounts.profiles
            _profile_panel(profiles, lab.avatars, principal)
            _password_panel(profiles, principal)
            tokens = TokenPanel(profiles, principal)
            sessions = SessionPanel(profiles, principal)
            _hugging_face_panel(profiles, principal)
            await _connections_panel(lab.accounts, principal)
        await tokens.refresh()
        await sessions.refresh()


def _profile_panel(profiles: Profiles, avatars: Avatars, principal: Principal) -> None:
    async def save() -> None:
        if await refusal.watch(_change(profiles, principal, {"name": name.value or ""})):
            status.set_text("Saved.")

    with panel("Profile"):
        me = principal.me
        ui.label(f"{me.email} · {me.role}").classes("lab-small")
        picture = AvatarPicker(avatars, principal)
        name = ui.input("Name", value=me.name).props(f"{_INPUT} autocomplete=name maxlength=100")
        refusal, status = Refusal(), ui.label().classes("lab-small").props('role="status"')
        primary_button("Save", save)
        picture.show()


class AvatarPicker:
    """Shows the user's picture and uploads a new one, which a worker scales down."""

    def __init__(self, avatars: Avatars, principal: Principal) -> None:
        self._avatars = avatars
        self._principal = principal
        with ui.element("div").classes("lab-actions"):
            self._image = ui.element("img").classes("lab-avatar").props('alt="Your picture"')
            self._upload = ui.upload(
                on_upload=self._uploaded,
                on_rejected=self._too_large,
                auto_upload=True,
                max_file_size=MAX_AVATAR_BYTES,
            )
            self._upload.props("accept=image/png,image/jpeg,image/webp,image/gif").classes("hidden")
            quiet_button("Choose a picture", lambda: self._upload.run_method("pickFiles"))
            self._remove = quiet_button("Remove picture", self._remove_picture)
        self._refusal = Refusal()

    def show(self) -> None:
        """Show the current picture."""
        address = avatar_url(self._principal.me)
        self._image.set_visibility(address is not None)
        self._remove.set_visibility(address is not None)
        if address is not None:
            self._image._props["src"] = address
            self._image.update()

    async def _uploaded(self, upload: events.UploadEventArguments) -> None:
        content = await upload.file.read()
        await self._refusal.watch(self._avatars.change(self._principal, content))
        self._upload.reset()
        self.show()

    def _too_large(self) -> None:
        self._refusal.say("A picture may have at most 1 MiB.")

    async def _remove_picture(self) -> None:
        await self._refusal.watch(self._avatars.remove(self._principal))
        self.show()


def _password_panel(profiles: Profiles, principal: Principal) -> None:
    async def save() -> None:
        values = {"password": new.value or "", "current_password": current.value or None}
        if await refusal.watch(_change(profiles, principal, values)):
            current.set_value("")
            new.set_value("")
            status.set_text("Password changed. All your other sessions are signed out.")

    with panel("Password"):
        current = _secret("Current password", "current-password")
        current.set_visibility(principal.me.password_hash is not None)
        new = _secret(f"New password (at least {MIN_PASSWORD_LENGTH} characters)", "new-password")
        refusal, status = Refusal(), ui.label().classes("lab-small").props('role="status"')
        primary_button("Change password", save)


class TokenPanel:
    """The user's API tokens; a new one is shown once."""

    def __init__(self, profiles: Profiles, principal: Principal) -> None:
        self._profiles = profiles
        self._principal = principal
        with panel("API tokens"):
            ui.label("Programs authenticate with a token: Authorization: Bearer ...").classes(
                "lab-small"
            )
            with ui.element("div").classes("lab-actions"):
                self._name = ui.input("Name of the token").props(f"{_INPUT} maxlength=100")
                self._scope = ui.select(list(map(str, TokenScope)), value="read", label="Scope")
                self._scope.props(_INPUT).classes("lab-tiny")
                primary_button("Create token", self._make)
            self._refusal = Refusal()
            with ui.element("div").classes("lab-stack") as self._new_token_box:
                ui.label("Copy it now: it is not shown again.").classes("lab-small")
                self._new_token = ui.label().classes("lab-secret").mark("fresh-token")
            self._new_token_box.set_visibility(False)
            self._table = Table("Name", "Scope", "Created", "Last used", "")

    async def refresh(self) -> None:
        """Show the current tokens."""
        found = await self._profiles.tokens(self._principal)
        self._table.element.set_visibility(bool(found))
        self._table.body.clear()
        with self._table.body:
            for token in found:
                with self._table.row():
                    self._table.text("", token.name, classes="lab-name is-name")
                    self._table.text("Scope", token.scope)
                    self._table.text("Created", format_time(token.created_at))
                    self._table.text("Last used", format_time(token.last_used_at))
                    with self._table.cell("", classes="is-actions"):
                        quiet_button("Revoke", partial(self._revoke, token.id), label=token.name)

    async def _make(self) -> None:
        async def make() -> str:
            new_token = NewToken.model_validate(
                {"name": self._name.value, "scope": self._scope.value}
            )
            return (await self._profiles.make_token(self._principal, new_token))[1]

        shown = await self._refusal.watch(make())
        self._new_token_box.set_visibility(shown is not None)
        if shown is not None:
            self._new_token.set_text(shown)
            self._name.set_value("")
            await self.refresh()

    async def _revoke(self, token_id: str) -> None:
        await self._refusal.watch(self._profiles.revoke_token(self._principal, token_id))
        await self._refusal.watch(self.refresh())


class SessionPanel:
    """The user's sessions."""

    def __init__(self, profiles: Profiles, principal: Principal) -> None:
        self._profiles = profiles
        self._principal = principal
        with panel("Sessions", flush=True):
            self._table = Table("Browser", "Address", "Signed in", "Last seen", "")
            self._refusal = Refusal()

    async def refresh(self) -> None:
        """Show the current sessions."""
        found = await self._profiles.sessions(self._principal)
        self._table.body.clear()
        with self._table.body:
            for session in found:
                with self._table.row():
                    self._table.text("", browser_name(session.browser), classes="lab-name is-name")
                    self._table.text("Address", session.address)
                    self._table.text("Signed in", format_time(session.created_at))
                    self._table.text("Last seen", format_time(session.last_seen_at))
                    with self._table.cell("", classes="is-actions"):
                        self._action(session.id)

    def _action(self, session_id: str) -> None:
        if session_id == self._principal.credential.session_id:
            ui.label("this session").classes("lab-small")
        else:
            quiet_button("End", lambda: self._end(session_id))

    async def _end(self, session_id: str) -> None:
        await self._refusal.watch(self._profiles.end_session(self._principal, session_id))
        await self._refusal.watch(self.refresh())


def _hugging_face_panel(profiles: Profiles, principal: Principal) -> None:
    def show() -> None:
        has_one = principal.me.hf_token is not None
        state.set_text(
            "A token is stored, encrypted. It can't be shown." if has_one else "No token is stored."
        )
        remove.set_visibility(has_one)

    async def save(value: str | None) -> None:
        if await refusal.watch(_change(profiles, principal, {"hf_token": value})):
            token.set_value("")
            show()

    with panel("Hugging Face"):
        state = ui.label().classes("lab-small").props('role="status"')
        token = _secret("Hugging Face token", "off")
        refusal = Refusal()
        with ui.element("div").classes("lab-actions"):
            primary_button("Save token", lambda: save(token.value or ""))
            remove = quiet_button("Remove token", lambda: save(None))
        show()


async def _connections_panel(accounts: Accounts, principal: Principal) -> None:
    """Show the connected external accounts and offer to connect others."""
    providers = accounts.openid.providers
    if not providers:
        return
    connected = {one.provider for one in await accounts.profiles.identities(principal)}
    with panel("Connected accounts"):
        for provider in providers:
            if provider.id in connected:
                ui.label(f"{provider.name}: connected").classes("lab-mono")
            else:
                ui.link(f"Connect {provider.name}", f"/auth/{provider.id}?next=/profile")
        ui.label("Connecting an account asks for your password on this server.").classes(
            "lab-small"
        )


async def _change(profiles: Profiles, principal: Principal, values: dict[str, str | None]) -> bool:
    await profiles.change(principal, ProfileChanges.model_validate(values))
    return True


def _secret(label: str, autocomplete: str) -> ui.input:
    field = ui.input(label, password=True, password_toggle_button=True)
    field.props(f"{_INPUT} autocomplete={autocomplete}")
    return field
