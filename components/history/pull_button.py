"""Import a model from the Hugging Face Hub as a run."""

from nicegui import ui

from app.access import Access
from app.sharing.pulling import PullRequest, Pulls
from components.base import Refusal, answer_to, compact_button, primary_button, quiet_button
from storage.records import RunRecord


class PullButton:
    """Asks for the name of a model, imports it, and opens the new run."""

    def __init__(self, access: Access, pulls: Pulls) -> None:
        self._access = access
        self._pulls = pulls
        button = compact_button("Pull from Hub", self._ask)
        button.set_visibility(access.principal.may_work)

    async def _ask(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("lab-panel lab-dialog"):
            ui.label("Pull from the Hugging Face Hub").classes("lab-name")
            name = _field("Model, as owner/name")
            file = _field("File, if the repository has several zip files")
            env_id = _field("Environment id, if the repository does not name it")
            ui.label("Only a sandboxed worker opens it.").classes("lab-small")
            refusal = Refusal()
            waiting = ui.label("Downloading and checking the model ...").classes("lab-small")
            waiting.props('role="status"').set_visibility(False)

            async def load() -> None:
                pull.disable()
                waiting.set_visibility(True)
                run = await refusal.watch(self._pull(name.value, file.value, env_id.value))
                pull.enable()
                waiting.set_visibility(False)
                if run is not None:
                    ui.navigate.to(f"/runs/{run.id}")

            with ui.element("div").classes("lab-actions"):
                pull = primary_button("Pull", load)
                quiet_button("Cancel", dialog.close)
        await answer_to(dialog)

    async def _pull(self, name: str, file: str, env_id: str) -> RunRecord:
        request = PullRequest(
            repo_id=name.strip(), filename=file.strip() or None, env_id=env_id.strip() or None
        )
        run = await self._pulls.pull(request, await self._access.allow_import("a model of the Hub"))
        await self._access.note("run_imported", run, repo_id=request.repo_id)
        return run


def _field(label: str) -> ui.input:
    field = ui.input(label, value="")
    return field.props("dense outlined hide-bottom-space maxlength=200").classes("lab-full")
