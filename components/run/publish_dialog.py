"""The dialog that publishes a run on the Hugging Face Hub, and the progress of the upload."""

from collections.abc import Sequence

from nicegui import ui

from app.access import Access
from app.sharing.model_card import model_file
from app.sharing.publishing import Publication, PublicationStatus, Publishing, PublishRequest
from app.sharing.versions import Version
from components.base import Refusal, answer_to, file_size, primary_button, quiet_button
from storage import LabError
from storage.records import RunRecord

_SAVED = "Token (yours is saved in your profile)"
_FINAL = "final"
_TYPED = "Token with write access, used once and not stored"


async def ask_to_publish(run: RunRecord, access: Access, publishing: Publishing) -> None:
    """Show what would be uploaded; return when the upload has started or the dialog is closed."""
    versions = await publishing.versions(await access.visible(run.id))
    form = _Form(run, access, publishing, versions)
    await form.draw()
    await answer_to(form.dialog)


class _Form:
    """The repository, the version, the token, and a preview of the model card."""

    def __init__(
        self,
        run: RunRecord,
        access: Access,
        publishing: Publishing,
        versions: Sequence[Version],
    ) -> None:
        self._run = run
        self._access = access
        self._publishing = publishing
        name = model_file(run).removesuffix(".zip")
        with ui.dialog() as self.dialog, ui.card().classes("lab-panel lab-dialog lab-wide"):
            ui.label("Push to the Hugging Face Hub").classes("lab-name")
            self._name = ui.input("Repository", value=name, on_change=self.draw)
            self._name.props("dense outlined hide-bottom-space debounce=400").classes("lab-full")
            self._version = self._choose_version(versions)
            label = _SAVED if access.saved_token() is not None else _TYPED
            self._token = ui.input(label, password=True).classes("lab-full")
            self._token.props('dense outlined hide-bottom-space autocomplete="off"')
            self._private = ui.checkbox("Private", value=True)
            self._update = ui.checkbox("Update the repository if it exists", value=False)
            ui.label("Model card").classes("lab-label")
            self._card = ui.label().classes("lab-card-preview lab-mono").props('tabindex="0"')
            self._files = ui.label().classes("lab-small")
            self._refusal = Refusal()
            with ui.element("div").classes("lab-actions"):
                primary_button("Push", self._push)
                quiet_button("Cancel", self.dialog.close)

    def _choose_version(self, versions: Sequence[Version]) -> ui.select:
        """Offer every version that stays; the first one is the final model, if there is one."""
        titles = {str(one.address or _FINAL): version_title(one) for one in versions}
        select = ui.select(
            titles, label="Version", value=next(iter(titles), None), on_change=self.draw
        )
        select.props("dense outlined hide-bottom-space options-dense").classes("lab-full")
        return select

    async def draw(self) -> None:
        """Preview the model card and the files to upload."""
        self._refusal.say("")
        try:
            run = await self._access.visible(self._run.id)
            upload, sizes = await self._publishing.preview(run, self._request())
        except LabError as error:
            self._refusal.say(str(error))
            return
        self._card.set_text(upload.card)
        known = (f"{n} ({file_size(s)})" if s is not None else n for n, s in sizes.items())
        hint = "" if "results.json" in sizes else " Test this version first to include results."
        self._files.set_text(", ".join(["README.md", *known]) + "." + hint)

    async def _push(self) -> None:
        self._refusal.say("")
        try:
            token = (self._token.value or "").strip() or self._access.saved_token()
            if token is None:
                has_profile = self._access.principal.user is not None
                self._refusal.say(missing_token_error(has_profile=has_profile))
                return
            run = await self._access.changeable(self._run.id, "run_published")
            begun = await self._publishing.start(run, self._request(), token)
            await self._access.note("run_published", run, repo_id=begun.repo_id)
        except LabError as error:
            self._refusal.say(str(error))
            return
        self.dialog.submit(None)

    def _request(self) -> PublishRequest:
        return PublishRequest(
            repo_id=(self._name.value or "").strip(),
            private=bool(self._private.value),
            update=bool(self._update.value),
            checkpoint=self._version.value,
        )


def missing_token_error(*, has_profile: bool) -> str:
    """Return the error for a missing token."""
    way = "Enter one above, or save one in your profile." if has_profile else "Enter one above."
    return f"A Hugging Face token is needed. {way}"


def version_title(version: Version) -> str:
    """Return the kind and the step of a version."""
    step = "-" if version.timesteps is None else f"{version.timesteps:,}"
    pinned = " · pinned" if version.pinned else ""
    return f"{_KINDS[version.kind]} · step {step}{pinned}"


_KINDS = {"final": "Final model", "best": "Best model", "checkpoint": "Checkpoint"}


class PublicationLine:
    """The progress, result or error of an upload; hidden if there was none."""

    def __init__(self) -> None:
        with ui.element("div").classes("lab-report lab-padded").props('role="status"') as self._box:
            self._bar = ui.linear_progress(0.0, show_value=False, size="4px")
            self._bar.props('aria-label="Progress of the upload"')
            self._text = ui.label().classes("lab-small")
            self._link = ui.link("", "#", new_tab=True)
        self.show(None)

    def show(self, publication: Publication | None) -> None:
        """Show the state of an upload."""
        self._box.set_visibility(publication is not None)
        if publication is None:
            return
        is_failed = publication.status is PublicationStatus.FAILED
        self._bar.set_visibility(not publication.status.is_over)
        self._bar.set_value(publication.progress)
        text = publication.error or publication.step or _STATUS_TEXTS[publication.status]
        self._text.set_text(text)
        self._text.classes(
            add="lab-error" if is_failed else "lab-small",
            remove="lab-small" if is_failed else "lab-error",
        )
        self._link.set_visibility(publication.url is not None)
        if publication.url is not None:
            self._link.set_text(publication.url)
            self._link._props["href"] = publication.url
            self._link.update()


_STATUS_TEXTS = {
    PublicationStatus.QUEUED: "Waiting to be uploaded ...",
    PublicationStatus.UPLOADING: "Uploading ...",
    PublicationStatus.DONE: "Published at",
    PublicationStatus.FAILED: "",
}
