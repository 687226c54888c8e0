"""Load user code in a locked worker, and report its errors with their line."""

import errno
import linecache
import sys
import traceback
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from app.protocol import HangingError, UserCodeError

_MAX_LENGTH = 500
_SANDBOX_ERRORS = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS, errno.EFBIG)
"""Error numbers of calls that the lock-down forbids."""


class FloodError(Exception):
    """User code prints too much."""

    def __init__(self, megabytes: int) -> None:
        super().__init__(
            f"it printed more than {megabytes} MiB; print less, once per episode for example"
        )


def load(code: str, *, filename: str) -> dict[str, Any]:
    """Run code in its own module and return the names that it defines.

    Call it in locked workers only.

    Raises:
        UserCodeError: if the code can't be compiled or raises an error.
    """
    module = ModuleType(f"user_{filename.removesuffix('.py')}")
    # dataclasses, among others, look up the module of a class here.
    sys.modules[module.__name__] = module
    # Lets tracebacks in the worker's log quote the source lines.
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
    names = vars(module)
    try:
        exec(compile(code, filename, "exec", dont_inherit=True), names)
    except BaseException as error:
        raise explain(error, filename) from error
    return names


def explain(error: BaseException, filename: str) -> UserCodeError:
    """Return the error as one of a user's file, with the line in it, if known."""
    if isinstance(error, UserCodeError):
        return error
    if isinstance(error, HangingError):
        return UserCodeError(str(error), error.line)
    line = _line(error, filename)
    where = filename if line is None else f"{filename}, line {line}"
    return UserCodeError(f"{where}: {_description(error)}"[:_MAX_LENGTH], line)


def line_of_return(
    call: Callable[..., Any], arguments: tuple[Any, ...], filename: str
) -> int | None:
    """Call the function again and return the line of its return statement."""
    lines: list[int] = []

    def follow(frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401 - itself, or None
        if frame.f_code.co_filename != filename:
            return None
        if event == "return":
            lines.append(frame.f_lineno)
        return follow

    sys.settrace(follow)
    try:
        call(*arguments)
    except BaseException:  # noqa: BLE001 - the caller reports the first call already
        return None
    finally:
        sys.settrace(None)
    return lines[-1] if lines else None


def _line(error: BaseException, filename: str) -> int | None:
    if isinstance(error, SyntaxError) and error.filename == filename:
        return error.lineno
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == filename]
    return lines[-1] if lines else None


def _description(error: BaseException) -> str:
    match error:
        case MemoryError():
            return "it ran out of the memory that a worker may use (RL_LAB_WORKER_MEMORY)"
        case OSError() if error.errno in _SANDBOX_ERRORS:
            action = f"access to {error.filename!r}" if error.filename else "what this line does"
            return f"the sandbox does not allow {action} ({error.strerror})"
        case FloodError():
            return str(error)
        case SystemExit() | KeyboardInterrupt():
            return f"it raised {type(error).__name__}, which would end the worker"
        case SyntaxError():
            return f"{type(error).__name__}: {error.msg}"
    return f"{type(error).__name__}: {_text(error)}".removesuffix(": ")


def _text(error: BaseException) -> str:
    try:
        return str(error).strip().partition("\n")[0]
    except BaseException:  # noqa: BLE001 - a user's exception class may raise or hang here
        return ""
