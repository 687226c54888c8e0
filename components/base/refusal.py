"""The line of a form that shows why a request was refused."""

from collections.abc import Awaitable
from typing import TypeVar

from nicegui import ui
from pydantic import ValidationError

from app.core import input_error
from storage import LabError

T = TypeVar("T")


class Refusal:
    """A line of red text below a form; empty while there is no error."""

    def __init__(self) -> None:
        self._line = ui.label().classes("lab-error").props('role="alert"')

    def say(self, sentence: str) -> None:
        """Show an error message, or none if it is empty."""
        self._line.set_text(sentence)

    async def watch(self, work: Awaitable[T]) -> T | None:
        """Return the result of `work`; if it fails, show the error and return None."""
        self._line.set_text("")
        try:
            return await work
        except ValidationError as error:
            self._line.set_text(str(input_error([dict(one) for one in error.errors()])))
        except LabError as error:
            self._line.set_text(str(error))
        return None
