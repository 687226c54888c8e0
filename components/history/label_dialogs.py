"""Dialogs for the labels of runs: name, tags, note."""

from collections.abc import Callable, Sequence

from nicegui import ui
from pydantic import ValidationError

from app.core import InputError, input_error
from app.run_config import MAX_NAME, MAX_NOTES, RunLabels
from components.base import answer_to, primary_button, quiet_button
from storage.records import RunRecord

Labels = dict[str, RunLabels]
"""The new labels by the id of their run."""


async def ask_for_name(run: RunRecord) -> Labels | None:
    """Return the new name, or None if the user cancelled."""

    def read(text: str) -> Labels:
        return {run.id: RunLabels(name=text.strip())}

    field = ui.input("Name", value=run.name).props(f"autofocus maxlength={MAX_NAME}")
    return await _ask("Rename", field, read)


async def ask_for_tags(runs: Sequence[RunRecord]) -> Labels | None:
    """Return the new tags of each run; tags that only some runs have are kept."""
    # Tags with a comma, which only the API can set, are not shown and stay.
    common = [tag for tag in runs[0].tags if all(tag in run.tags for run in runs)]
    shown = [tag for tag in common if "," not in tag]

    def read(text: str) -> Labels:
        entered = [tag for part in text.split(",") if (tag := part.strip())]
        removed = set(shown) - set(entered)
        return {
            run.id: RunLabels(
                tags=list(dict.fromkeys([*(t for t in run.tags if t not in removed), *entered]))
            )
            for run in runs
        }

    some = sorted({tag for run in runs for tag in run.tags if tag not in common}, key=str.lower)
    note = (
        f"Only some of these runs have these tags, which are kept: {', '.join(some)}."
        if some
        else ""
    )
    field = ui.input("Tags, separated by commas", value=", ".join(shown)).props("autofocus")
    return await _ask(_title(runs), field, read, note=note, submit_text="Save")


async def ask_for_note(runs: Sequence[RunRecord]) -> Labels | None:
    """Return the new note of one run, or of several runs with a text appended."""

    def read(text: str) -> Labels:
        if len(runs) == 1:
            return {runs[0].id: RunLabels(notes=text)}
        added = text.strip()
        return {run.id: RunLabels(notes=f"{run.notes}\n\n{added}".strip()) for run in runs}

    field = ui.textarea("Note", value=runs[0].notes if len(runs) == 1 else "")
    field.props(f"autofocus autogrow maxlength={MAX_NOTES}")
    note = "" if len(runs) == 1 else "It is appended to the note of each run."
    return await _ask(_title(runs), field, read, note=note, submit_text="Save")


async def _ask(
    title: str,
    field: ui.input | ui.textarea,
    read: Callable[[str], Labels],
    *,
    note: str = "",
    submit_text: str = "",
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
            primary_button(submit_text or title, submit)
            quiet_button("Cancel", dialog.close)
    keys = "keydown.ctrl.enter" if isinstance(field, ui.textarea) else "keydown.enter"
    field.on(keys, submit)
    answer = await answer_to(dialog)
    return answer if isinstance(answer, dict) else None


def _checked(read: Callable[[str], Labels], text: str) -> Labels:
    try:
        labels = read(text)
    except ValidationError as error:
        raise input_error([dict(one) for one in error.errors()]) from None
    for label in labels.values():
        label.columns()
    return labels


def _title(runs: Sequence[RunRecord]) -> str:
    return runs[0].name if len(runs) == 1 else f"{len(runs)} runs"
