"""`/admin`: users, roles, limits, registration, invitations, disk, audit log."""

from collections.abc import Mapping

from fastapi import Request, Response
from nicegui import ui

from app.accounts import AccessError, Directory, LabChanges, NewInvitation, Principal
from app.accounts.users import Administration
from app.lab import Lab
from app.workers import Sandbox
from components.admin import AuditTable, UsersTable, server_url
from components.base import (
    Refusal,
    Table,
    format_time,
    megabytes,
    panel,
    primary_button,
    quiet_button,
    read_limit,
)
from pages.layout import RESPONSE_TIMEOUT_S, SANDBOX_WORDS, frame
from pages.opener import this_principal
from pages.plain import plain_page
from storage.records import InvitationRecord, Registration, Role

_INPUT = "dense outlined hide-bottom-space"


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/admin", response_timeout=RESPONSE_TIMEOUT_S)
    async def admin_page(request: Request) -> Response | None:
        principal = this_principal()
        try:
            principal.check_admin()
        except AccessError as error:
            return plain_page(request, "Administration", "empty.html", error=error)
        sandbox, used = await lab.sandbox(), await lab.disk.by_owner()
        free = await lab.disk.free()
        with (
            frame("Administration", lab, sandbox=sandbox),
            ui.element("div").classes("lab-stack"),
        ):
            await _panels(lab, principal, sandbox, used, free)
        return None


async def _panels(
    lab: Lab, principal: Principal, sandbox: Sandbox, used: Mapping[str | None, int], free: int
) -> None:
    accounts = lab.accounts
    administration = accounts.administration
    with panel("Users", flush=True):
        users = UsersTable(administration, accounts.resets, principal, used)
    _lab_panel(administration, accounts.directory, principal)
    invitations = InvitationPanel(administration, principal)
    _server_panel(sandbox, sum(used.values()), free)
    with panel("Audit log", flush=True):
        audit = AuditTable(administration, principal)
    users.refresh()
    await invitations.refresh()
    await audit.refresh()


def _lab_panel(administration: Administration, directory: Directory, principal: Principal) -> None:
    async def save() -> None:
        async def change() -> bool:
            changes = LabChanges.model_validate(
                {
                    "registration": registration.value,
                    "runs_at_once": read_limit(runs.value, "runs_at_once"),
                    "disk_mb": read_limit(disk.value, "disk_mb"),
                }
            )
            await administration.change_lab(principal, changes)
            return True

        if await refusal.watch(change()):
            status.set_text("Saved.")

    defaults = directory.default_limits
    with panel("Lab"):
        with ui.element("div").classes("lab-actions"):
            registration = ui.select(
                list(map(str, Registration)),
                value=str(directory.registration),
                label="New accounts",
            )
            registration.props(_INPUT).classes("lab-short")
            runs = _limit("Concurrent runs per user", defaults.runs_at_once)
            disk = _limit("Disk in MB per user", defaults.disk_mb)
        ui.label("Empty: no limit. Limits of single users are set above.").classes("lab-small")
        refusal, status = Refusal(), ui.label().classes("lab-small").props('role="status"')
        primary_button("Save", save)


class InvitationPanel:
    """Sent invitations; the link of a new one is shown once."""

    def __init__(self, administration: Administration, principal: Principal) -> None:
        self._administration = administration
        self._principal = principal
        with panel("Invitations"):
            with ui.element("div").classes("lab-actions"):
                self._email = ui.input("E-mail (empty: anyone)").props(_INPUT)
                roles = list(map(str, Role))
                self._role = ui.select(roles, value="member", label="Role").props(_INPUT)
                self._role.classes("lab-tiny")
                primary_button("Invite", self._invite)
            self._refusal = Refusal()
            with ui.element("div").classes("lab-stack") as self._link_box:
                ui.label("Send this link to them now: it is not shown again.").classes("lab-small")
                self._link = ui.label().classes("lab-secret").mark("fresh-invitation")
            self._link_box.set_visibility(False)
            self._table = Table("For", "Role", "Invited by", "Until", "Used by", "")

    async def refresh(self) -> None:
        """Show the current invitations."""
        found = await self._administration.invitations(self._principal)
        self._table.element.set_visibility(bool(found))
        self._table.body.clear()
        with self._table.body:
            for invitation in found:
                with self._table.row():
                    self._row(invitation)

    def _row(self, invitation: InvitationRecord) -> None:
        self._table.text("", invitation.email or "anyone", classes="lab-name is-name")
        self._table.text("Role", invitation.role)
        self._table.text("Invited by", invitation.created_by)
        self._table.text("Until", format_time(invitation.expires_at))
        self._table.text("Used by", invitation.used_by or "-")
        with self._table.cell("", classes="is-actions"):
            if invitation.used_at is None:
                quiet_button("Revoke", lambda: self._revoke(invitation.id))

    async def _invite(self) -> None:
        async def invite() -> str:
            email = (self._email.value or "").strip() or None
            invitation = NewInvitation.model_validate({"email": email, "role": self._role.value})
            return (await self._administration.invite(self._principal, invitation))[1]

        code = await self._refusal.watch(invite())
        self._link_box.set_visibility(code is not None)
        if code is not None:
            self._link.set_text(f"{server_url()}/register?invitation={code}")
            self._email.set_value("")
            await self.refresh()

    async def _revoke(self, invitation_id: str) -> None:
        work = self._administration.revoke_invitation(self._principal, invitation_id)
        await self._refusal.watch(work)
        await self._refusal.watch(self.refresh())


def _server_panel(sandbox: Sandbox, used: int, free: int) -> None:
    unrestricted = ", ".join(sandbox.escapes) or "none"
    with panel("Server"):
        ui.label(
            f"Sandbox {SANDBOX_WORDS[sandbox.level]}; not restricted: {unrestricted}."
        ).classes("lab-mono")
        ui.label(f"Runs use {megabytes(used)}; {megabytes(free)} are free.").classes("lab-mono")


def _limit(label: str, value: int | None) -> ui.input:
    field = ui.input(label, value="" if value is None else str(value))
    field.props(f"{_INPUT} inputmode=numeric").classes("lab-short")
    return field
