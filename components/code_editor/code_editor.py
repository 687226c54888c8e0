"""A code editor: Monaco, or CodeMirror on small screens and where Monaco wasn't built."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from nicegui import ui
from nicegui.events import GenericEventArguments

from app.authoring.rewards.completions import Word
from app.core.errors import InputError
from app.core.formatting import format_python
from app.web.assets import ASSETS_FOLDER

# Touching the built-in editor registers the CodeMirror module that the script imports.
_CODE_MIRROR = ui.codemirror

LONGEST = 64 << 10
"""How many characters a text may have."""
UNSCALED = "transition-show=fade transition-hide=fade"
"""How a dialog opens that has an editor in it: in one that grows, Chromium draws no frame more."""
_MONACO = ASSETS_FOLDER / "monaco"
_HAS_MONACO = (_MONACO / "index.js").is_file()


class Problem(Protocol):
    """What is wrong at a place of the code; lines and columns are counted from 1."""

    @property
    def line(self) -> int:
        """The line that it begins in."""

    @property
    def column(self) -> int:
        """The column that it begins at."""

    @property
    def end_line(self) -> int | None:
        """The line that it ends in, if known."""

    @property
    def end_column(self) -> int | None:
        """The first column behind it, if known."""

    @property
    def is_error(self) -> bool:
        """Whether it has to be mended."""

    @property
    def message(self) -> str:
        """What is wrong and how to mend it."""


@dataclass(frozen=True)
class Handlers:
    """What is called with the text: on every change, and when it is to be saved (Ctrl-S)."""

    changed: Callable[[str], None] | None = None
    save: Callable[[str], Awaitable[str]] | None = None
    """Returns what to say about it beside the buttons."""


Check = Callable[[str], Awaitable[Sequence[Problem]]]


class CodeEditor(
    ui.element,
    component="code_editor.js",
    dependencies=["code_editor_monaco.js", "code_editor_mirror.js"],
    esm={"lab-monaco": str(_MONACO)} if _HAS_MONACO else {},
):
    """A text with what helps to write it; pages give it the words and the check."""

    def __init__(
        self,
        text: str = "",
        *,
        label: str,
        check: Check | None = None,
        on: Handlers | None = None,
        read_only: bool = False,
    ) -> None:
        """`check` is asked after every pause in the typing; `label` says what is written here."""
        super().__init__()
        self._code = text
        self._check = check
        self._on = on or Handlers()
        self._asked = 0
        self._turn = 0
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
        """The code, as far as it is known here: without what was typed in this very moment."""
        return self._code

    def write(self, text: str) -> None:
        """Put another text in the place of this one; it can be undone."""
        self._write(text, of=None)

    def offer(self, words: Sequence[Word]) -> None:
        """Say what the code may name."""
        self._props["words"] = [asdict(word) for word in words]
        self.update()

    def compare(self, text: str | None, name: str = "") -> None:
        """Show how the code differs from another text; None: show it alone."""
        self._props["against"] = None if text is None else {"text": text, "name": name}
        self.update()

    def reveal(self, line: int) -> None:
        """Bring a line into sight and put the cursor there."""
        self._props["wanted"] = {"line": line, "turn": self._next_turn()}
        self.update()

    def say(self, words: str) -> None:
        """Say something beside the buttons, until somebody types."""
        self._props["told"] = {"text": words, "turn": self._next_turn()}
        self.update()

    def underline(self, problems: Sequence[Problem]) -> None:
        """Underline and list these, until somebody types."""
        self._props["problems"] = [_shown(problem) for problem in problems]
        self.update()

    def let_write(self, may: bool) -> None:
        """Say whether the text may be changed."""
        self._props["read-only"] = not may
        self.update()

    def _write(self, text: str, *, of: int | None) -> None:
        self._code = self._props["text"] = text
        self._props["written"] = {"text": text, "turn": self._next_turn(), "of": of}
        self.update()

    def _next_turn(self) -> int:
        self._turn += 1
        return self._turn

    def _read(self, event: GenericEventArguments) -> tuple[str, int] | None:
        """Take what a browser sent for what it is: anything."""
        given: Any = event.args if isinstance(event.args, dict) else {}
        text, turn = given.get("text"), given.get("turn")
        if not isinstance(text, str) or not isinstance(turn, int) or len(text) > LONGEST:
            return None
        if text != self._code:
            self._code = self._props["text"] = text
            if self._on.changed is not None:
                self._on.changed(text)
        return text, turn

    async def _typed(self, event: GenericEventArguments) -> None:
        if (read := self._read(event)) is not None:
            await self._look(read[1])

    async def _look(self, turn: int) -> None:
        """Check the code, unless it has changed again by the time that is done."""
        if self._check is None:
            return
        self._asked = asked = self._asked + 1
        problems = await self._check(self._code)
        if asked == self._asked and not self.is_deleted:
            self._props["problems"] = [_shown(problem) for problem in problems]
            self._props["checked"] = turn
            self.update()

    async def _saved(self, event: GenericEventArguments) -> None:
        if (read := self._read(event)) is None or self._on.save is None:
            return
        try:
            self.say(await self._on.save(read[0]))
        except InputError as error:
            self.say(str(error))
        await self._look(read[1])

    async def _format(self, event: GenericEventArguments) -> None:
        if (read := self._read(event)) is None:
            return
        try:
            self._write(await format_python(read[0]), of=read[1])
            self.say("Formatted")
        except InputError as error:
            self.say(str(error))
            await self._look(read[1])


def _shown(problem: Problem) -> dict[str, Any]:
    return {
        "line": problem.line,
        "column": problem.column,
        "endLine": problem.end_line,
        "endColumn": problem.end_column,
        "isError": problem.is_error,
        "message": problem.message,
    }
