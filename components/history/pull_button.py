"""Load a model from the Hugging Face Hub as a run."""

from typing import Any

from nicegui import ui

from app.access.sharing_access import SharingAccess
from app.accounts.visitors import Visitor
from app.sharing.pulling import PullWish
from components.base.buttons import compact_button, primary_button, quiet_button
from components.base.dialogs import answer_to
from components.base.refusal import Refusal


class PullButton:
    """Asks for the name of a model, has it loaded, and opens the run that came of it."""

    def __init__(self, visitor: Visitor, sharing: SharingAccess) -> None:
        self._sharing = sharing
        button = compact_button("Pull from Hub", self._ask)
        button.set_visibility(visitor.may_work)

    async def _ask(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("lab-panel lab-dialog"):
            ui.label("Pull from the Hugging Face Hub").classes("lab-name")
            name = _field("Model, as owner/name")
            file = _field("File, if it has several zips")
            env_id = _field("Environment, if its page doesn't say")
            ui.label("Only a locked worker opens it.").classes("lab-small")
            refusal = Refusal()
            waiting = ui.label("Loading and looking at it ...").classes("lab-small")
            waiting.props('role="status"').set_visibility(False)

            async def load() -> None:
                push.disable()
                waiting.set_visibility(True)
                run = await refusal.watch(self._pull(name.value, file.value, env_id.value))
                push.enable()
                waiting.set_visibility(False)
                if run is not None:
                    ui.navigate.to(f"/runs/{run.id}")

            with ui.element("div").classes("lab-actions"):
                push = primary_button("Pull", load)
                quiet_button("Cancel", dialog.close)
        await answer_to(dialog)

    async def _pull(self, name: str, file: str, env_id: str) -> Any:  # noqa: ANN401 - a run
        wish = PullWish(
            repo_id=name.strip(), filename=file.strip() or None, env_id=env_id.strip() or None
        )
        return await self._sharing.pull(wish)


def _field(label: str) -> ui.input:
    field = ui.input(label, value="")
    return field.props("dense outlined hide-bottom-space maxlength=200").classes("lab-full")
