"""Code that people write in the lab: loaded in a locked worker, its errors said with their line."""

import errno
import linecache
import sys
import traceback
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from app.protocol.user_code import HangingError, UserCodeError

_LONGEST = 500
_OF_THE_SANDBOX = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS, errno.EFBIG)
"""What a call that the lock-down forbids answers."""


class FloodError(Exception):
    """Code prints more than anybody reads."""

    def __init__(self, megabytes: int) -> None:
        super().__init__(
            f"it printed more than {megabytes} MiB; print less, once per episode for example"
        )


def load(code: str, *, filename: str) -> dict[str, Any]:
    """Run code in a module of its own and return the names that it defines.

    Only for workers that are locked down.

    Raises:
        UserCodeError: if it can't be compiled, or raises while it runs.
    """
    module = ModuleType(f"user_{filename.removesuffix('.py')}")
    # Where dataclasses, among others, look for the module of a class.
    sys.modules[module.__name__] = module
    # So that a traceback in the worker's log quotes the lines.
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
    names = vars(module)
    try:
        exec(compile(code, filename, "exec", dont_inherit=True), names)
    except BaseException as error:
        raise explain(error, filename) from error
    return names


def explain(error: BaseException, filename: str) -> UserCodeError:
    """Say what went wrong in a person's file, and in which line of it."""
    if isinstance(error, UserCodeError):
        return error
    if isinstance(error, HangingError):
        return UserCodeError(str(error), error.line)
    line = _line(error, filename)
    where = filename if line is None else f"{filename}, line {line}"
    return UserCodeError(f"{where}: {_what(error)}"[:_LONGEST], line)


def line_of_return(call: Callable[..., Any], asked: tuple[Any, ...], filename: str) -> int | None:
    """Ask once more, and look in which line the answer is returned."""
    lines: list[int] = []

    def follow(frame: FrameType, event: str, _: object) -> Any:  # noqa: ANN401 - itself, or None
        if frame.f_code.co_filename != filename:
            return None
        if event == "return":
            lines.append(frame.f_lineno)
        return follow

    sys.settrace(follow)
    try:
        call(*asked)
    except BaseException:  # noqa: BLE001 - what it returned before is already bad enough
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


def _what(error: BaseException) -> str:
    match error:
        case MemoryError():
            return "it ran out of the memory that a worker may use (RL_LAB_WORKER_MEMORY)"
        case OSError() if error.errno in _OF_THE_SANDBOX:
            what = f"access to {error.filename!r}" if error.filename else "what this line does"
            return f"the sandbox does not allow {what} ({error.strerror})"
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
    except BaseException:  # noqa: BLE001 - a person's class may raise here, too, or take too long
        return ""
