"""The dialog that shares a run."""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from nicegui import ui

from components.base import Refusal, answer_to, primary_button, quiet_button
from storage.records import RunRecord, Visibility


class Share(Protocol):
    """Shares a run with other users."""

    def __call__(
        self, *, visibility: Visibility, shared_with: Sequence[str]
    ) -> Awaitable[RunRecord]:
        """Set who may view the run."""


async def ask_for_readers(run: RunRecord, readers: Sequence[str], *, share: Share) -> None:
    """Ask who may view a run; return when that is saved or the dialog is closed."""

    async def save() -> None:
        shared_with = [part.strip() for part in (emails.value or "").split(",") if part.strip()]
        chosen = Visibility.EVERYONE if everyone.value else Visibility.PRIVATE
        if await refusal.watch(share(visibility=chosen, shared_with=shared_with)) is not None:
            dialog.submit(None)

    with ui.dialog() as dialog, ui.card().classes("lab-panel lab-dialog"):
        ui.label(f"Share {run.name}").classes("lab-name")
        everyone = ui.checkbox("Everyone in this lab", value=run.visibility is Visibility.EVERYONE)
        emails = ui.input("E-mail addresses, separated by commas", value=", ".join(readers))
        emails.props("dense outlined hide-bottom-space").classes("lab-full")
        ui.label("They can view and download the run, but not change it.").classes("lab-small")
        refusal = Refusal()
        with ui.element("div").classes("lab-actions"):
            primary_button("Save", save)
            quiet_button("Cancel", dialog.close)
    await answer_to(dialog)
