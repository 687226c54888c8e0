"""Ask something in a dialog that is there only as long as it is asked."""

from typing import Any

from nicegui import ui


async def answer_to(dialog: ui.dialog) -> Any:  # noqa: ANN401 - whatever it is submitted with
    """Open a dialog, return what it was submitted with, and take it off the page."""
    answer: Any = await dialog
    # Whoever left the page meanwhile took it along.
    if not dialog.is_deleted:
        dialog.delete()
    return answer
