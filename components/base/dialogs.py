"""Dialogs that exist only while they are open."""

from typing import Any

from nicegui import ui


async def answer_to(dialog: ui.dialog) -> Any:  # noqa: ANN401 - whatever it is submitted with
    """Open a dialog, return the submitted value, and delete the dialog."""
    answer: Any = await dialog
    # Leaving the page has deleted it already.
    if not dialog.is_deleted:
        dialog.delete()
    return answer
