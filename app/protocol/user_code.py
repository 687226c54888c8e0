"""What both processes know of users' code: files, limits, and where a worker hangs or crashed."""

import re
from dataclasses import dataclass

REWARD_FILE = "reward.py"
"""How a reward is called that somebody wrote, in its folder and in every message."""

EVALUATION_FILE = "evaluate.py"
"""How code is called that judges episodes."""

ENVIRONMENT_FILE = "environment.py"
"""How an environment is called that somebody wrote."""

FILES = (REWARD_FILE, EVALUATION_FILE, ENVIRONMENT_FILE)

LONGEST_CALL_S = 5.0
"""How long a call of a person's code may take."""

_HANGS = "Timeout ("
_CRASHED = "Fatal Python error: "
"""How `faulthandler` begins."""
_PLACE = re.compile(rf'File "({"|".join(map(re.escape, FILES))})", line (\d+)')


class UserCodeError(Exception):
    """Something is wrong with code that a person wrote; the message is a sentence for them."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class HangingError(BaseException):
    """A call takes too long. No Exception: code that goes on after those must not after this."""

    def __init__(self, filename: str, line: int) -> None:
        super().__init__(f"{filename}, line {line}: the call took longer than {LONGEST_CALL_S:g} s")
        self.line = line


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a person's code."""

    filename: str
    line: int


def hanging_place(printed: str) -> Place | None:
    """Return the line that kept Python itself busy, if a worker printed so."""
    return _place(printed, _HANGS)


def crashed_place(printed: str) -> Place | None:
    """Return the line in which Python itself crashed, if a worker printed so."""
    return _place(printed, _CRASHED)


def _place(printed: str, heading: str) -> Place | None:
    """Return the innermost line of a person's code in the stack that was printed last."""
    _, found, stack = printed.rpartition(heading)
    innermost = _PLACE.search(stack) if found else None
    return Place(innermost[1], int(innermost[2])) if innermost else None
