"""All users with their roles, limits and disk usage."""

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from app.accounts import AccessError, Principal, UserChanges
from app.accounts.users import Administration, Resets
from components.admin.addresses import server_url
from components.base import Refusal, Table, format_time, megabytes, quiet_button, read_limit
from storage.records import Role, UserRecord

_INPUT = "dense outlined hide-bottom-space"


class UsersTable:
    """A row per user; changes take effect immediately."""

    def __init__(
        self,
        administration: Administration,
        resets: Resets,
        principal: Principal,
        used: Mapping[str | None, int],
    ) -> None:
        self._administration = administration
        self._resets = resets
        self._principal = principal
        self._used = used
        self._refusal = Refusal()
        with ui.element("div").classes("lab-stack lab-fresh") as self._reset_box:
            self._reset_hint = ui.label().classes("lab-small")
            self._reset_link = ui.label().classes("lab-secret").mark("fresh-reset")
        self._reset_box.set_visibility(False)
        self._table = Table("User", "Role", "Concurrent runs", "Disk MB", "Used", "Last seen", "")

    def refresh(self) -> None:
        """Show all users."""
        self._table.body.clear()
        with self._table.body:
            for user in self._administration.users(self._principal):
                with self._table.row():
                    self._row(user)

    def _row(self, user: UserRecord) -> None:
        with self._table.cell("", classes="is-name"):
            ui.label(user.name).classes("lab-name")
            blocked = " · blocked" if user.is_blocked else ""
            ui.label(f"{user.email}{blocked}").classes("lab-small")
        with self._table.cell("Role"):
            role = ui.select(list(map(str, Role)), value=str(user.role)).props(_INPUT)
            role.props('aria-label="Role"').on_value_change(
                lambda sent: self._change(user, {"role": sent.value})
            )
        self._limit(user, "Concurrent runs", "runs_at_once", user.runs_at_once)
        self._limit(user, "Disk MB", "disk_mb", user.disk_mb)
        self._table.text("Used", megabytes(self._used.get(user.id, 0)))
        self._table.text("Last seen", format_time(user.last_login_at))
        with self._table.cell("", classes="is-actions"):
            if not user.is_blocked:
                quiet_button("New password", lambda: self._reset(user), label=user.email)
            text = "Unblock" if user.is_blocked else "Block"
            change = {"blocked": not user.is_blocked}
            quiet_button(text, lambda: self._change(user, change), label=user.email)

    def _limit(self, user: UserRecord, title: str, name: str, value: int | None) -> None:
        with self._table.cell(title):
            field = ui.input(value="" if value is None else str(value), placeholder="default")
            field.props(f'{_INPUT} inputmode=numeric aria-label="{title}"').classes("lab-tiny")
            field.on("change", lambda: self._change_limit(user, name, field.value))

    async def _change_limit(self, user: UserRecord, name: str, text: str | None) -> None:
        async def change() -> None:
            await self._save(user, {name: read_limit(text, name)})

        await self._refusal.watch(change())

    async def _change(self, user: UserRecord, values: dict[str, Any]) -> None:
        await self._refusal.watch(self._save(user, values))
        try:
            self.refresh()
        except AccessError as error:
            # Administrators who gave up their own role may no longer see this list.
            self._refusal.say(str(error))

    async def _reset(self, user: UserRecord) -> None:
        """Show a link to set a new password; the old one stays valid until it is used."""
        reset = await self._refusal.watch(self._resets.make(self._principal, user.id))
        self._reset_box.set_visibility(reset is not None)
        if reset is not None:
            record, code = reset
            self._reset_hint.set_text(
                f"Send this link to {user.email} now: it is not shown again. It works once, "
                f"until {format_time(record.expires_at)}."
            )
            self._reset_link.set_text(f"{server_url()}/reset?code={code}")

    async def _save(self, user: UserRecord, values: dict[str, Any]) -> None:
        changes = UserChanges.model_validate(values)
        await self._administration.change_user(self._principal, user.id, changes)
