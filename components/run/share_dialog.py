"""Who may look at a run."""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from nicegui import ui

from components.base.buttons import primary_button, quiet_button
from components.base.dialogs import answer_to
from components.base.refusal import Refusal
from storage.records.runs import RunRecord, Visibility


class Share(Protocol):
    """Lets others look at a run."""

    def __call__(
        self, *, visibility: Visibility, shared_with: Sequence[str]
    ) -> Awaitable[RunRecord]:
        """Share it as asked."""


async def ask_for_readers(run: RunRecord, readers: Sequence[str], *, share: Share) -> None:
    """Ask who may look at a run, until that is saved or the dialog closed."""

    async def save() -> None:
        people = [part.strip() for part in (emails.value or "").split(",") if part.strip()]
        chosen = Visibility.EVERYONE if everyone.value else Visibility.PRIVATE
        if await refusal.watch(share(visibility=chosen, shared_with=people)) is not None:
            dialog.submit(None)

    with ui.dialog() as dialog, ui.card().classes("lab-panel lab-dialog"):
        ui.label(f"Who may look at {run.name}").classes("lab-name")
        everyone = ui.checkbox("Everyone in this lab", value=run.visibility is Visibility.EVERYONE)
        emails = ui.input("E-mail addresses, separated by commas", value=", ".join(readers))
        emails.props("dense outlined hide-bottom-space").classes("lab-full")
        ui.label("They can watch and download it, and change nothing.").classes("lab-small")
        refusal = Refusal()
        with ui.element("div").classes("lab-actions"):
            primary_button("Save", save)
            quiet_button("Cancel", dialog.close)
    await answer_to(dialog)
