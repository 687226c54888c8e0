"""Problems in users' code, with their positions."""

import ast
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """The severity of a problem: code with an error can't be used."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem in the code; lines and columns start at 1, as in editors."""

    line: int
    column: int
    severity: Severity
    message: str
    end_line: int | None = None
    end_column: int | None = None
    """The first column after it, if its end is known."""

    @property
    def is_error(self) -> bool:
        """Whether the code can't be used because of it."""
        return self.severity is Severity.ERROR


@dataclass(frozen=True, slots=True)
class Source:
    """Parsed code."""

    code: str
    lines: list[str]
    tree: ast.Module

    @classmethod
    def parse(cls, code: str) -> "Source":
        """Parse code.

        Raises:
            SyntaxError, ValueError, MemoryError, RecursionError: if that fails.
        """
        tree = ast.parse(code)
        # Some errors are only found by compiling, such as a return outside a function.
        compile(code, "code", "exec", dont_inherit=True)
        return cls(code, code.split("\n"), tree)

    def error(self, node: ast.AST | None, message: str) -> Problem:
        """Return an error at a node, or at the beginning."""
        return self._problem(node, Severity.ERROR, message)

    def warning(self, node: ast.AST | None, message: str) -> Problem:
        """Return a warning at a node."""
        return self._problem(node, Severity.WARNING, message)

    def _problem(self, node: ast.AST | None, severity: Severity, message: str) -> Problem:
        if not isinstance(node, ast.stmt | ast.expr | ast.arg | ast.excepthandler):
            return Problem(line=1, column=1, severity=severity, message=message)
        end_line = node.end_lineno or node.lineno
        # For several lines without an end, so that editors don't underline a whole function.
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
        """Convert an offset in bytes to a column."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="ignore")) + 1
