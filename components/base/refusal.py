"""Where a form says what was wrong with it."""

from collections.abc import Awaitable
from typing import TypeVar

from nicegui import ui
from pydantic import ValidationError

from app.core.errors import explain
from storage.errors import LabError

T = TypeVar("T")


class Refusal:
    """A line of red text below a form; empty while nothing is wrong."""

    def __init__(self) -> None:
        self._line = ui.label().classes("lab-error").props('role="alert"')

    def say(self, sentence: str) -> None:
        """Say what was wrong."""
        self._line.set_text(sentence)

    async def watch(self, work: Awaitable[T]) -> T | None:
        """Return what `work` returns, or say why it didn't and return None."""
        self._line.set_text("")
        try:
            return await work
        except ValidationError as error:
            self._line.set_text(str(explain([dict(one) for one in error.errors()])))
        except LabError as error:
            self._line.set_text(str(error))
        return None
