"""Static checks of code, which editors show during typing."""

import asyncio
import re
import threading
import warnings
from collections.abc import Callable
from typing import TypeVar

from app.catalog.environments import EnvSpec
from app.code_check.definitions import definition_problems
from app.code_check.flow import flow_problems
from app.code_check.kinds import CodeKind
from app.code_check.modules import import_problems
from app.code_check.observations import observation_problems
from app.code_check.problems import Problem, Severity, Source
from app.code_check.undefined import undefined_names

MAX_CODE_BYTES = 64 << 10
"""The maximum size of code, in bytes."""
_MAX_PROBLEMS = 50
_ONE_AT_A_TIME = threading.Lock()
"""Python's warning filters are shared by all threads."""
_MAX_PARTS = 100
_LONG_NAME = re.compile(rf"(?<!\w)(?:\w++[\s\\]*+\.[\s\\]*+){{{_MAX_PARTS}}}")
"""Python joins the parts of a dotted name one by one, which takes a gigabyte for thousands."""
_T = TypeVar("_T")


async def check(code: str, kind: CodeKind, spec: EnvSpec | None = None) -> list[Problem]:
    """Return the problems, sorted by position; `spec` enables checks of observations."""

    def find(source: Source) -> tuple[Source, list[Problem]]:
        problems = definition_problems(source, kind)
        problems += [*import_problems(source), *flow_problems(source)]
        if spec is not None and kind is CodeKind.REWARD:
            problems += observation_problems(source, spec)
        return source, problems

    try:
        source, problems = await asyncio.to_thread(_read, code, find)
    except _UnreadableError as error:
        return [error.problem]
    problems += await undefined_names(source)
    return sorted(problems, key=lambda problem: (problem.line, problem.column))[:_MAX_PROBLEMS]


def first_error(code: str, kind: CodeKind) -> Problem | None:
    """Return the first error in the syntax or the definitions, if any."""
    try:
        problems = _read(code, lambda source: definition_problems(source, kind))
    except _UnreadableError as error:
        return error.problem
    return next((problem for problem in problems if problem.is_error), None)


class _UnreadableError(Exception):
    """The code can't be parsed."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


def _read(code: str, find: Callable[[Source], _T]) -> _T:
    """Parse code and return what `find` finds in it.

    Raises:
        _UnreadableError: if it can't be parsed or is nested too deeply.
    """
    try:
        if len(code.encode()) > MAX_CODE_BYTES:
            raise _unreadable(f"it is longer than {MAX_CODE_BYTES >> 10} KiB")
        if _LONG_NAME.search(code):
            raise _unreadable(f"a name has more than {_MAX_PARTS} parts between dots")
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = Source.parse(code)
        return find(source)
    except SyntaxError as error:
        raise _UnreadableError(_syntax_problem(error)) from None
    except UnicodeEncodeError:
        raise _unreadable("it has unpaired surrogates") from None
    except (MemoryError, RecursionError):
        raise _unreadable("it is nested too deeply") from None
    except ValueError as error:
        raise _unreadable(str(error).partition(":")[0]) from None


def _syntax_problem(error: SyntaxError) -> Problem:
    has_end = error.end_lineno == error.lineno and (error.end_offset or 0) > (error.offset or 1)
    return Problem(
        line=max(error.lineno or 1, 1),
        column=max(error.offset or 1, 1),
        severity=Severity.ERROR,
        message=f"Python can't read this: {error.msg}.",
        end_line=error.end_lineno if has_end else None,
        end_column=error.end_offset if has_end else None,
    )


def _unreadable(reason: str) -> _UnreadableError:
    text = f"Python can't read this: {reason}."
    return _UnreadableError(Problem(line=1, column=1, severity=Severity.ERROR, message=text))
