"""Look at code without running it: what an editor underlines while somebody types."""

import re
import threading
import warnings
from collections.abc import Callable

from app.catalog.environments.spec import EnvSpec
from app.code_check.definitions import definition_problems
from app.code_check.flow import flow_problems
from app.code_check.kinds import CodeKind
from app.code_check.modules import import_problems
from app.code_check.observations import observation_problems
from app.code_check.problems import Problem, Severity, Source
from app.code_check.undefined import undefined_names

LONGEST = 64 << 10
"""How many bytes code may have."""
_MOST_PROBLEMS = 50
_ONE_AT_A_TIME = threading.Lock()
"""Python keeps one list of ignored warnings for all threads."""
_MOST_PARTS = 100
_LONG_NAME = re.compile(rf"(?<!\w)(?:\w++[\s\\]*+\.[\s\\]*+){{{_MOST_PARTS}}}")
"""Python joins the parts of an imported name one by one: of thousands it makes a gigabyte."""


def check(code: str, kind: CodeKind, spec: EnvSpec | None = None) -> list[Problem]:
    """Return what is wrong, in the order of lines; `spec` says what can be observed."""

    def look(source: Source) -> list[Problem]:
        problems = definition_problems(source, kind) + _further_problems(source)
        if spec is not None and kind is CodeKind.REWARD:
            problems += observation_problems(source, spec)
        return problems

    problems = _read(code, look)
    return sorted(problems, key=lambda problem: (problem.line, problem.column))[:_MOST_PROBLEMS]


def first_error(code: str, kind: CodeKind) -> Problem | None:
    """Return why nothing can be done with code, if it is for its syntax or what it defines."""
    problems = _read(code, lambda source: definition_problems(source, kind))
    return next((problem for problem in problems if problem.is_error), None)


def _read(code: str, look: Callable[[Source], list[Problem]]) -> list[Problem]:
    try:
        if len(code.encode()) > LONGEST:
            return [_unreadable(f"it is longer than {LONGEST >> 10} KiB")]
        if _LONG_NAME.search(code):
            return [_unreadable(f"a name has more than {_MOST_PARTS} parts between dots")]
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = Source.parse(code)
        return look(source)
    except SyntaxError as error:
        return [_of_syntax(error)]
    except UnicodeEncodeError:
        return [_unreadable("it has characters that are half of a pair")]
    except (MemoryError, RecursionError):
        return [_unreadable("it is nested too deeply")]
    except ValueError as error:
        return [_unreadable(str(error).partition(":")[0])]


def _further_problems(source: Source) -> list[Problem]:
    return [*undefined_names(source), *import_problems(source), *flow_problems(source)]


def _of_syntax(error: SyntaxError) -> Problem:
    has_end = error.end_lineno == error.lineno and (error.end_offset or 0) > (error.offset or 1)
    return Problem(
        line=max(error.lineno or 1, 1),
        column=max(error.offset or 1, 1),
        severity=Severity.ERROR,
        message=f"Python can't read this: {error.msg}.",
        end_line=error.end_lineno if has_end else None,
        end_column=error.end_offset if has_end else None,
    )


def _unreadable(why: str) -> Problem:
    text = f"Python can't read this: {why}."
    return Problem(line=1, column=1, severity=Severity.ERROR, message=text)
