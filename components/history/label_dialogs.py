"""Questions about what people write on runs: a name, tags, a note."""

from collections.abc import Callable, Sequence

from nicegui import ui
from pydantic import ValidationError

from app.core.errors import InputError, explain
from app.run_config.config import MAX_NAME
from app.run_config.labels import MAX_NOTES, RunLabels
from components.base.buttons import primary_button, quiet_button
from components.base.dialogs import answer_to
from storage.records.runs import RunRecord

Labels = dict[str, RunLabels]
"""What is to be written on which run."""


async def ask_for_name(run: RunRecord) -> Labels | None:
    """Return the name that a person chose, or None if they'd rather not."""

    def read(text: str) -> Labels:
        return {run.id: RunLabels(name=text.strip())}

    field = ui.input("Name", value=run.name).props(f"autofocus maxlength={MAX_NAME}")
    return await _ask("Rename", field, read)


async def ask_for_tags(runs: Sequence[RunRecord]) -> Labels | None:
    """Return the tags that each run is to have; those that only some have stay as they are."""
    # One with a comma, which only a program can have set, stays as it is.
    common = [tag for tag in runs[0].tags if all(tag in run.tags for run in runs)]
    shown = [tag for tag in common if "," not in tag]

    def read(text: str) -> Labels:
        wanted = [tag for part in text.split(",") if (tag := part.strip())]
        removed = set(shown) - set(wanted)
        return {
            run.id: RunLabels(
                tags=list(dict.fromkeys([*(t for t in run.tags if t not in removed), *wanted]))
            )
            for run in runs
        }

    some = sorted({tag for run in runs for tag in run.tags if tag not in common}, key=str.lower)
    note = f"Only some of them have these, which stay: {', '.join(some)}." if some else ""
    field = ui.input("Tags, separated by commas", value=", ".join(shown)).props("autofocus")
    return await _ask(_about(runs), field, read, note=note, done="Save")


async def ask_for_note(runs: Sequence[RunRecord]) -> Labels | None:
    """Return the note of one run, or what is added to the notes of several."""

    def read(text: str) -> Labels:
        if len(runs) == 1:
            return {runs[0].id: RunLabels(notes=text)}
        added = text.strip()
        return {run.id: RunLabels(notes=f"{run.notes}\n\n{added}".strip()) for run in runs}

    field = ui.textarea("Note", value=runs[0].notes if len(runs) == 1 else "")
    field.props(f"autofocus autogrow maxlength={MAX_NOTES}")
    note = "" if len(runs) == 1 else "It is added below the note that each run has."
    return await _ask(_about(runs), field, read, note=note, done="Save")


async def _ask(
    title: str,
    field: ui.input | ui.textarea,
    read: Callable[[str], Labels],
    *,
    note: str = "",
    done: str = "",
) -> Labels | None:
    def submit() -> None:
        try:
            dialog.submit(_checked(read, field.value or ""))
        except InputError as error:
            problem.set_text(str(error))

    with ui.dialog() as dialog, ui.card().classes("lab-panel lab-dialog") as card:
        ui.label(title).classes("lab-name")
        field.move(card)
        field.props("dense outlined hide-bottom-space").classes("lab-full")
        ui.label(note).classes("lab-small")
        problem = ui.label().classes("lab-error").props('role="alert"')
        with ui.element("div").classes("lab-actions"):
            primary_button(done or title, submit)
            quiet_button("Cancel", dialog.close)
    keys = "keydown.ctrl.enter" if isinstance(field, ui.textarea) else "keydown.enter"
    field.on(keys, submit)
    answer = await answer_to(dialog)
    return answer if isinstance(answer, dict) else None


def _checked(read: Callable[[str], Labels], text: str) -> Labels:
    try:
        labels = read(text)
    except ValidationError as error:
        raise explain([dict(one) for one in error.errors()]) from None
    for label in labels.values():
        label.columns()
    return labels


def _about(runs: Sequence[RunRecord]) -> str:
    return runs[0].name if len(runs) == 1 else f"{len(runs)} runs"
