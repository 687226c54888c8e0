"""What is wrong with code that somebody wrote, and where."""

import ast
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a problem matters: with an error nothing can be trained."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to look at; lines and columns are counted from 1, as editors do."""

    line: int
    column: int
    severity: Severity
    message: str
    end_line: int | None = None
    end_column: int | None = None
    """The first column after it, where its end is known."""

    @property
    def is_error(self) -> bool:
        """Whether it has to be mended first."""
        return self.severity is Severity.ERROR


@dataclass(frozen=True, slots=True)
class Source:
    """Code that could be parsed."""

    code: str
    lines: list[str]
    tree: ast.Module

    @classmethod
    def parse(cls, code: str) -> "Source":
        """Read code.

        Raises:
            SyntaxError, ValueError, MemoryError, RecursionError: if Python can't.
        """
        tree = ast.parse(code)
        # Some errors are only seen one step later: a return outside a function, for one.
        compile(code, "code", "exec", dont_inherit=True)
        return cls(code, code.split("\n"), tree)

    def error(self, node: ast.AST | None, message: str) -> Problem:
        """Return what has to be mended at a node, or at the beginning."""
        return self._problem(node, Severity.ERROR, message)

    def warning(self, node: ast.AST | None, message: str) -> Problem:
        """Return what is worth a look at a node."""
        return self._problem(node, Severity.WARNING, message)

    def _problem(self, node: ast.AST | None, severity: Severity, message: str) -> Problem:
        if not isinstance(node, ast.stmt | ast.expr | ast.arg | ast.excepthandler):
            return Problem(line=1, column=1, severity=severity, message=message)
        end_line = node.end_lineno or node.lineno
        # Of something long only its first line: a squiggle below a whole function helps nobody.
        is_short = end_line == node.lineno and node.end_col_offset is not None
        end = self._column(end_line, node.end_col_offset or 0) if is_short else None
        return Problem(
            line=node.lineno,
            column=self._column(node.lineno, node.col_offset),
            severity=severity,
            message=message,
            end_line=end_line if is_short else None,
            end_column=end,
        )

    def _column(self, line: int, offset: int) -> int:
        """Return the column of what Python counts in bytes."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="ignore")) + 1
