"""Servers that start at once: forked from a process that imported what `main.py` imports.

A test that starts a lab of its own would otherwise spend two seconds of a processor on imports.
Everything after them is `main.py` as it is; tests of how it starts start it plainly.
"""

import ast
import atexit
import json
import os
import runpy
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import psutil

from app.worker import kernel

ROOT = Path(__file__).parent.parent
MAIN = ROOT / "main.py"
_PR_SET_PDEATHSIG = 1


def fork_main(environment: dict[str, str], output: Path) -> psutil.Process:
    """Start `main.py` with these variables alone; what it prints is written to a file."""
    parent = _start_parent()
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write(json.dumps({"environment": environment, "output": str(output)}) + "\n")
    parent.stdin.flush()
    return psutil.Process(int(parent.stdout.readline()))


@cache
def _start_parent() -> subprocess.Popen[str]:
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.server_forks"],
        cwd=ROOT,
        env=shell_variables(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(parent.communicate)
    return parent


def shell_variables() -> dict[str, str]:
    """Return what a person's shell would give: less what pytest left in it."""
    ours = ("RL_LAB_", "NICEGUI_", "PYTEST_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def _import_what_main_imports() -> None:
    imports = [
        one
        for one in ast.parse(MAIN.read_text()).body
        if isinstance(one, ast.Import | ast.ImportFrom)
    ]
    exec(compile(ast.Module(imports, type_ignores=[]), MAIN, "exec"), {})


def _fork_until_the_tests_end() -> dict[str, object] | None:
    """Return in each forked process with what it was asked for, at the end with nothing."""
    for line in sys.stdin:
        if pid := os.fork():
            sys.stdout.write(f"{pid}\n")
            sys.stdout.flush()
        else:
            asked: dict[str, object] = json.loads(line)
            return asked
    return None


def _become_main(environment: dict[str, str], output: str) -> None:
    if sys.platform == "linux":  # It ends with the tests, however they end.
        kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)
    with Path(os.devnull).open() as nothing, Path(output).open("a") as printed:
        os.dup2(nothing.fileno(), 0)
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
    sys.argv = ["main.py"]
    runpy.run_path(str(MAIN), run_name="__main__")


if __name__ == "__main__":
    _import_what_main_imports()
    # Nobody asks how they ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if asked := _fork_until_the_tests_end():
        _become_main(**asked)  # type: ignore[arg-type]
