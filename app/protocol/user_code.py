"""Users' code, for both processes: file names, limits, and the line of a hang or crash."""

import re
from dataclasses import dataclass

REWARD_FILE = "reward.py"
"""The file name of a custom reward, in its folder and in every message."""

EVALUATION_FILE = "evaluate.py"
"""The file name of evaluation code."""

ENVIRONMENT_FILE = "environment.py"
"""The file name of a custom environment."""

USER_CODE_FILES = (REWARD_FILE, EVALUATION_FILE, ENVIRONMENT_FILE)

LONGEST_CALL_S = 5.0
"""The time limit of a call of a user's code."""

_HANGS = "Timeout ("
_CRASHED = "Fatal Python error: "
"""The first words of `faulthandler`'s output."""
_PLACE = re.compile(rf'File "({"|".join(map(re.escape, USER_CODE_FILES))})", line (\d+)')


class UserCodeError(Exception):
    """A user's code is faulty; the message is a sentence for the user."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class HangingError(BaseException):
    """A call takes too long. Not an Exception, so that user code can't catch it by accident."""

    def __init__(self, filename: str, line: int) -> None:
        super().__init__(f"{filename}, line {line}: the call took longer than {LONGEST_CALL_S:g} s")
        self.line = line


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a user's code."""

    filename: str
    line: int


def hanging_place(printed: str) -> Place | None:
    """Return the line that blocks the interpreter, if the worker printed one."""
    return _place(printed, _HANGS)


def crashed_place(printed: str) -> Place | None:
    """Return the line in which the interpreter crashed, if the worker printed one."""
    return _place(printed, _CRASHED)


def _place(printed: str, heading: str) -> Place | None:
    """Return the innermost line of a user's code in the last printed stack."""
    _, found, stack = printed.rpartition(heading)
    innermost = _PLACE.search(stack) if found else None
    return Place(innermost[1], int(innermost[2])) if innermost else None
