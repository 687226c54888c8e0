"""Push a run to the Hugging Face Hub: what goes where, what its page will say, how far it is."""

from nicegui import ui

from app.access.sharing_access import SharingAccess
from app.sharing.model_card import model_file
from app.sharing.publishing import Publication, PublicationStatus, Wish
from components.base.buttons import primary_button, quiet_button
from components.base.dialogs import answer_to
from components.base.refusal import Refusal
from components.base.sizes import file_size
from storage.errors import LabError
from storage.records.runs import RunRecord

_SAVED = "Token (yours is saved in your profile)"
_TYPED = "Token with write access, used once and not kept"


async def ask_to_publish(run: RunRecord, sharing: SharingAccess) -> None:
    """Show what would be uploaded and ask where to, until it is on its way or the dialog closed."""
    asked = _Form(run, sharing)
    await asked.draw()
    await answer_to(asked.dialog)


class _Form:
    """Where to, with whose token, and the card as it would be."""

    def __init__(self, run: RunRecord, sharing: SharingAccess) -> None:
        self._run = run
        self._sharing = sharing
        name = model_file(run).removesuffix(".zip")
        with ui.dialog() as self.dialog, ui.card().classes("lab-panel lab-dialog lab-wide"):
            ui.label("Push to the Hugging Face Hub").classes("lab-name")
            self._name = ui.input("Repository", value=name, on_change=self.draw)
            self._name.props("dense outlined hide-bottom-space debounce=400").classes("lab-full")
            label = _SAVED if sharing.has_saved_token() else _TYPED
            self._token = ui.input(label, password=True).classes("lab-full")
            self._token.props('dense outlined hide-bottom-space autocomplete="off"')
            self._private = ui.checkbox("Private", value=True)
            self._update = ui.checkbox("It may exist already, and gets a new version", value=False)
            ui.label("Model card").classes("lab-label")
            self._card = ui.label().classes("lab-card-preview lab-mono").props('tabindex="0"')
            self._files = ui.label().classes("lab-small")
            self._refusal = Refusal()
            with ui.element("div").classes("lab-actions"):
                primary_button("Push", self._push)
                quiet_button("Cancel", self.dialog.close)

    async def draw(self) -> None:
        """Show the card and the files as they would be uploaded."""
        self._refusal.say("")
        try:
            parcel, sizes = await self._sharing.preview(self._run.id, self._wish())
        except LabError as error:
            self._refusal.say(str(error))
            return
        self._card.set_text(parcel.card)
        known = (f"{n} ({file_size(s)})" if s is not None else n for n, s in sizes.items())
        hint = "" if "results.json" in sizes else " Test it first, and the card has results."
        self._files.set_text(", ".join(["README.md", *known]) + "." + hint)

    async def _push(self) -> None:
        self._refusal.say("")
        try:
            token = (self._token.value or "").strip() or None
            if token is None and not self._sharing.has_saved_token():
                self._refusal.say(no_token(has_profile=self._sharing.has_profile))
                return
            await self._sharing.publish(self._run.id, self._wish(), token)
        except LabError as error:
            self._refusal.say(str(error))
            return
        self.dialog.submit(None)

    def _wish(self) -> Wish:
        return Wish(
            repo_id=(self._name.value or "").strip(),
            private=bool(self._private.value),
            update=bool(self._update.value),
        )


def no_token(*, has_profile: bool) -> str:
    """Say how to come by a token."""
    way = "Type one above, or save one in your profile." if has_profile else "Type one above."
    return f"A Hugging Face token is needed. {way}"


class PublicationLine:
    """How far an upload is, where it went, or why it failed; nothing if there was none."""

    def __init__(self) -> None:
        with ui.element("div").classes("lab-report lab-padded").props('role="status"') as self._box:
            self._bar = ui.linear_progress(0.0, show_value=False, size="4px")
            self._bar.props('aria-label="Progress of the upload"')
            self._text = ui.label().classes("lab-small")
            self._link = ui.link("", "#", new_tab=True)
        self.show(None)

    def show(self, found: Publication | None) -> None:
        """Show how an upload goes."""
        self._box.set_visibility(found is not None)
        if found is None:
            return
        is_failed = found.status is PublicationStatus.FAILED
        self._bar.set_visibility(not found.status.is_over)
        self._bar.set_value(found.progress)
        self._text.set_text(found.error or found.step or _WORDS[found.status])
        self._text.classes(
            add="lab-error" if is_failed else "lab-small",
            remove="lab-small" if is_failed else "lab-error",
        )
        self._link.set_visibility(found.url is not None)
        if found.url is not None:
            self._link.set_text(found.url)
            self._link._props["href"] = found.url
            self._link.update()


_WORDS = {
    PublicationStatus.QUEUED: "Waiting to be uploaded ...",
    PublicationStatus.UPLOADING: "Uploading ...",
    PublicationStatus.DONE: "Published at",
    PublicationStatus.FAILED: "",
}
