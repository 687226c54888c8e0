"""`/admin`: people, roles, limits, who may register, invitations, disk, audit log."""

from collections.abc import Mapping
from html import escape

from fastapi import Request, Response
from nicegui import ui

from app.accounts.directory import Directory
from app.accounts.errors import AccessError
from app.accounts.requests import LabChanges, NewInvitation
from app.accounts.users.administration import Administration
from app.accounts.visitors import Visitor
from app.lab import Lab
from app.workers.sandbox_check import Sandbox
from components.admin.addresses import this_server
from components.admin.audit_table import AuditTable
from components.admin.people_table import PeopleTable
from components.base.buttons import primary_button, quiet_button
from components.base.panel import panel
from components.base.refusal import Refusal
from components.base.sizes import megabytes, read_limit
from components.base.table import Table
from components.base.times import moment
from pages.layout import PATIENCE_S, frame
from pages.plain import plain_page
from pages.visiting import this_visitor
from storage.records.accounts import InvitationRecord, Registration, Role

_INPUT = "dense outlined hide-bottom-space"


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/admin", response_timeout=PATIENCE_S)
    async def admin_page(request: Request) -> Response | None:
        visitor = this_visitor()
        try:
            visitor.check_admin()
        except AccessError as error:
            words = f'<div class="lab-empty"><p class="lab-name">{escape(str(error))}</p></div>'
            return plain_page(request, "Administration", words, status=error.status)
        sandbox, used = await lab.sandbox(), await lab.disk.by_owner()
        free = await lab.disk.free()
        with (
            frame("Administration", lab, sandbox=sandbox),
            ui.element("div").classes("lab-stack"),
        ):
            await _panels(lab, visitor, sandbox, used, free)
        return None


async def _panels(
    lab: Lab, visitor: Visitor, sandbox: Sandbox, used: Mapping[str | None, int], free: int
) -> None:
    accounts = lab.accounts
    administration = accounts.administration
    with panel("People", flush=True):
        people = PeopleTable(administration, accounts.resets, visitor, used)
    _lab_panel(administration, accounts.directory, visitor)
    invitations = InvitationPanel(administration, visitor)
    _server_panel(sandbox, sum(used.values()), free)
    with panel("Audit log", flush=True):
        audit = AuditTable(administration, visitor)
    people.refresh()
    await invitations.refresh()
    await audit.refresh()


def _lab_panel(administration: Administration, directory: Directory, visitor: Visitor) -> None:
    async def save() -> None:
        async def change() -> bool:
            changes = LabChanges.model_validate(
                {
                    "registration": registration.value,
                    "runs_at_once": read_limit(runs.value, "runs_at_once"),
                    "disk_mb": read_limit(disk.value, "disk_mb"),
                }
            )
            await administration.change_lab(visitor, changes)
            return True

        if await refusal.watch(change()):
            said.set_text("Saved.")

    usual = directory.usual_limits
    with panel("Lab"):
        with ui.element("div").classes("lab-actions"):
            registration = ui.select(
                list(map(str, Registration)),
                value=str(directory.registration),
                label="New accounts",
            )
            registration.props(_INPUT).classes("lab-short")
            runs = _limit("Runs at once, per person", usual.runs_at_once)
            disk = _limit("Disk in MB, per person", usual.disk_mb)
        ui.label("Empty: no limit. People can have limits of their own above.").classes("lab-small")
        refusal, said = Refusal(), ui.label().classes("lab-small").props('role="status"')
        primary_button("Save", save)


class InvitationPanel:
    """Who was invited; a new code is shown once."""

    def __init__(self, administration: Administration, visitor: Visitor) -> None:
        self._administration = administration
        self._visitor = visitor
        with panel("Invitations"):
            with ui.element("div").classes("lab-actions"):
                self._email = ui.input("E-mail (empty: anybody)").props(_INPUT)
                roles = list(map(str, Role))
                self._role = ui.select(roles, value="member", label="Role").props(_INPUT)
                self._role.classes("lab-tiny")
                primary_button("Invite", self._invite)
            self._refusal = Refusal()
            with ui.element("div").classes("lab-stack") as self._fresh:
                ui.label("Send this address to them now: it is never shown again.").classes(
                    "lab-small"
                )
                self._shown = ui.label().classes("lab-secret").mark("fresh-invitation")
            self._fresh.set_visibility(False)
            self._table = Table("For", "Role", "From", "Until", "Used by", "")

    async def refresh(self) -> None:
        """Show the invitations as they are now."""
        found = await self._administration.invitations(self._visitor)
        self._table.element.set_visibility(bool(found))
        self._table.body.clear()
        with self._table.body:
            for invitation in found:
                with self._table.row():
                    self._row(invitation)

    def _row(self, invitation: InvitationRecord) -> None:
        self._table.text("", invitation.email or "anybody", classes="lab-name is-name")
        self._table.text("Role", invitation.role)
        self._table.text("From", invitation.created_by)
        self._table.text("Until", moment(invitation.expires_at))
        self._table.text("Used by", invitation.used_by or "-")
        with self._table.cell("", classes="is-actions"):
            if invitation.used_at is None:
                quiet_button("Revoke", lambda: self._revoke(invitation.id))

    async def _invite(self) -> None:
        async def invite() -> str:
            email = (self._email.value or "").strip() or None
            wanted = NewInvitation.model_validate({"email": email, "role": self._role.value})
            return (await self._administration.invite(self._visitor, wanted))[1]

        code = await self._refusal.watch(invite())
        self._fresh.set_visibility(code is not None)
        if code is not None:
            self._shown.set_text(f"{this_server()}/register?invitation={code}")
            self._email.set_value("")
            await self.refresh()

    async def _revoke(self, invitation_id: str) -> None:
        work = self._administration.revoke_invitation(self._visitor, invitation_id)
        await self._refusal.watch(work)
        await self._refusal.watch(self.refresh())


def _server_panel(sandbox: Sandbox, used: int, free: int) -> None:
    doors = ", ".join(sandbox.open_doors) or "none"
    with panel("Server"):
        ui.label(f"Sandbox {sandbox.level}; open doors: {doors}.").classes("lab-mono")
        ui.label(f"Runs hold {megabytes(used)}; {megabytes(free)} are free.").classes("lab-mono")


def _limit(label: str, value: int | None) -> ui.input:
    field = ui.input(label, value="" if value is None else str(value))
    field.props(f"{_INPUT} inputmode=numeric").classes("lab-short")
    return field
