"""A code editor: Monaco, or CodeMirror on small screens and where Monaco wasn't built."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from nicegui import ui
from nicegui.events import GenericEventArguments

from app.authoring.rewards import Word
from app.core import InputError, format_python
from app.web.assets import ASSETS_FOLDER

# Accessing the built-in editor registers the CodeMirror module that the script imports.
_CODE_MIRROR = ui.codemirror

_MAX_LENGTH = 64 << 10
"""Maximum number of characters of a text."""
UNSCALED_DIALOG = "transition-show=fade transition-hide=fade"
"""Props for a dialog with an editor: if it opened by scaling, Chromium would stop drawing."""
_MONACO = ASSETS_FOLDER / "monaco"
_HAS_MONACO = (_MONACO / "index.js").is_file()


class Problem(Protocol):
    """A problem in the code; lines and columns count from 1."""

    @property
    def line(self) -> int:
        """Its first line."""

    @property
    def column(self) -> int:
        """Its first column."""

    @property
    def end_line(self) -> int | None:
        """Its last line, if known."""

    @property
    def end_column(self) -> int | None:
        """The column after its end, if known."""

    @property
    def is_error(self) -> bool:
        """Whether it has to be fixed."""

    @property
    def message(self) -> str:
        """What is wrong and how to fix it."""


@dataclass(frozen=True)
class Handlers:
    """Callbacks that take the text: on every change, and on save (button or Ctrl-S)."""

    changed: Callable[[str], None] | None = None
    save: Callable[[str], Awaitable[str]] | None = None
    """Returns the status text to show next to the buttons."""


Check = Callable[[str], Awaitable[Sequence[Problem]]]


class CodeEditor(
    ui.element,
    component="code_editor.js",
    dependencies=["code_editor_monaco.js", "code_editor_mirror.js"],
    esm={"lab-monaco": str(_MONACO)} if _HAS_MONACO else {},
):
    """A code editor; pages provide the words for completion and the check."""

    def __init__(
        self,
        text: str = "",
        *,
        label: str,
        check: Check | None = None,
        on: Handlers | None = None,
        read_only: bool = False,
    ) -> None:
        """`check` is called after every pause in typing; `label` is the accessible name."""
        super().__init__()
        self._code = text
        self._check = check
        self._on = on or Handlers()
        self._check_count = 0
        self._number = 0
        self._props.update(
            {
                "text": text,
                "label": label,
                "words": [],
                "problems": [],
                "checked": -1,
                "checks": check is not None,
                "saves": self._on.save is not None,
                "read-only": read_only,
                "has-monaco": _HAS_MONACO,
            }
        )
        self.on("typed", self._typed)
        self.on("save", self._saved)
        self.on("format", self._format)

    @property
    def text(self) -> str:
        """The code as last sent: 250 ms after a key press without another, or on loss of focus."""
        return self._code

    def write(self, text: str) -> None:
        """Replace the text; the user can undo it."""
        self._write(text, of=None)

    def offer(self, words: Sequence[Word]) -> None:
        """Set the words for completion."""
        self._props["words"] = [asdict(word) for word in words]
        self.update()

    def compare(self, text: str | None, name: str = "") -> None:
        """Show the difference to another text; None shows the code alone."""
        self._props["against"] = None if text is None else {"text": text, "name": name}
        self.update()

    def reveal(self, line: int) -> None:
        """Scroll to a line and put the cursor there."""
        self._props["reveal"] = {"line": line, "number": self._next_number()}
        self.update()

    def say(self, words: str) -> None:
        """Show a text next to the buttons, until the user types."""
        self._props["message"] = {"text": words, "number": self._next_number()}
        self.update()

    def underline(self, problems: Sequence[Problem]) -> None:
        """Underline and list these problems until the user types."""
        self._props["problems"] = [_as_prop(problem) for problem in problems]
        self.update()

    def set_editable(self, editable: bool) -> None:
        """Set whether the user may change the text."""
        self._props["read-only"] = not editable
        self.update()

    def _write(self, text: str, *, of: int | None) -> None:
        self._code = self._props["text"] = text
        self._props["written"] = {"text": text, "number": self._next_number(), "of": of}
        self.update()

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _read(self, event: GenericEventArguments) -> tuple[str, int] | None:
        """Validate untrusted data from the browser; return text and revision."""
        data: Any = event.args if isinstance(event.args, dict) else {}
        text, revision = data.get("text"), data.get("revision")
        if not isinstance(text, str) or not isinstance(revision, int) or len(text) > _MAX_LENGTH:
            return None
        if text != self._code:
            self._code = self._props["text"] = text
            if self._on.changed is not None:
                self._on.changed(text)
        return text, revision

    async def _typed(self, event: GenericEventArguments) -> None:
        if (read := self._read(event)) is not None:
            await self._run_check(read[1])

    async def _run_check(self, revision: int) -> None:
        """Check the code; discard the result if a newer check has started."""
        if self._check is None:
            return
        self._check_count = number = self._check_count + 1
        problems = await self._check(self._code)
        if number == self._check_count and not self.is_deleted:
            self._props["problems"] = [_as_prop(problem) for problem in problems]
            self._props["checked"] = revision
            self.update()

    async def _saved(self, event: GenericEventArguments) -> None:
        if (read := self._read(event)) is None or self._on.save is None:
            return
        try:
            self.say(await self._on.save(read[0]))
        except InputError as error:
            self.say(str(error))
        await self._run_check(read[1])

    async def _format(self, event: GenericEventArguments) -> None:
        if (read := self._read(event)) is None:
            return
        try:
            self._write(await format_python(read[0]), of=read[1])
            self.say("Formatted")
        except InputError as error:
            self.say(str(error))
            await self._run_check(read[1])


def _as_prop(problem: Problem) -> dict[str, Any]:
    return {
        "line": problem.line,
        "column": problem.column,
        "endLine": problem.end_line,
        "endColumn": problem.end_column,
        "isError": problem.is_error,
        "message": problem.message,
    }
