"""Everybody, with what they may do and use."""

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from app.accounts.errors import AccessError
from app.accounts.requests import PersonChanges
from app.accounts.users.administration import Administration
from app.accounts.users.password_resets import Resets
from app.accounts.visitors import Visitor
from components.admin.addresses import this_server
from components.base.buttons import quiet_button
from components.base.refusal import Refusal
from components.base.sizes import megabytes, read_limit
from components.base.table import Table
from components.base.times import moment
from storage.records.accounts import PersonRecord, Role

_INPUT = "dense outlined hide-bottom-space"


class PeopleTable:
    """A row per person; what is changed in it holds at once."""

    def __init__(
        self,
        administration: Administration,
        resets: Resets,
        visitor: Visitor,
        used: Mapping[str | None, int],
    ) -> None:
        self._administration = administration
        self._resets = resets
        self._visitor = visitor
        self._used = used
        self._refusal = Refusal()
        with ui.element("div").classes("lab-stack lab-fresh") as self._fresh:
            self._whose = ui.label().classes("lab-small")
            self._shown = ui.label().classes("lab-secret").mark("fresh-reset")
        self._fresh.set_visibility(False)
        self._table = Table("Person", "Role", "Runs at once", "Disk MB", "Used", "Last seen", "")

    def refresh(self) -> None:
        """Show everybody as they are now."""
        self._table.body.clear()
        with self._table.body:
            for person in self._administration.people(self._visitor):
                with self._table.row():
                    self._row(person)

    def _row(self, person: PersonRecord) -> None:
        with self._table.cell("", classes="is-name"):
            ui.label(person.name).classes("lab-name")
            blocked = " · blocked" if person.is_blocked else ""
            ui.label(f"{person.email}{blocked}").classes("lab-small")
        with self._table.cell("Role"):
            role = ui.select(list(map(str, Role)), value=str(person.role)).props(_INPUT)
            role.props('aria-label="Role"').on_value_change(
                lambda sent: self._change(person, {"role": sent.value})
            )
        self._limit(person, "Runs at once", "runs_at_once", person.runs_at_once)
        self._limit(person, "Disk MB", "disk_mb", person.disk_mb)
        self._table.text("Used", megabytes(self._used.get(person.id, 0)))
        self._table.text("Last seen", moment(person.last_login_at))
        with self._table.cell("", classes="is-actions"):
            if not person.is_blocked:
                quiet_button("New password", lambda: self._reset(person), label=person.email)
            text = "Unblock" if person.is_blocked else "Block"
            change = {"blocked": not person.is_blocked}
            quiet_button(text, lambda: self._change(person, change), label=person.email)

    def _limit(self, person: PersonRecord, title: str, name: str, value: int | None) -> None:
        with self._table.cell(title):
            field = ui.input(value="" if value is None else str(value), placeholder="usual")
            field.props(f'{_INPUT} inputmode=numeric aria-label="{title}"').classes("lab-tiny")
            field.on("change", lambda: self._change_limit(person, name, field.value))

    async def _change_limit(self, person: PersonRecord, name: str, text: str | None) -> None:
        async def change() -> None:
            await self._save(person, {name: read_limit(text, name)})

        await self._refusal.watch(change())

    async def _change(self, person: PersonRecord, values: dict[str, Any]) -> None:
        await self._refusal.watch(self._save(person, values))
        try:
            self.refresh()
        except AccessError as error:
            # Who took the role from themselves sees nobody any more.
            self._refusal.say(str(error))

    async def _reset(self, person: PersonRecord) -> None:
        """Show an address at which somebody sets a new password; until then the old one holds."""
        made = await self._refusal.watch(self._resets.make(self._visitor, person.id))
        self._fresh.set_visibility(made is not None)
        if made is not None:
            record, code = made
            self._whose.set_text(
                f"Send this address to {person.email} now: it is never shown again. "
                f"It works once, until {moment(record.expires_at)}."
            )
            self._shown.set_text(f"{this_server()}/reset?code={code}")

    async def _save(self, person: PersonRecord, values: dict[str, Any]) -> None:
        changes = PersonChanges.model_validate(values)
        await self._administration.change_person(self._visitor, person.id, changes)
