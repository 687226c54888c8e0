import subprocess
import sys
from pathlib import Path

import pytest

from app.protocol.user_code import UserCodeError
from app.worker.user_code.loader import explain, load


def refusal(code: str) -> UserCodeError:
    with pytest.raises(UserCodeError) as refused:
        load(code, filename="reward.py")
    return refused.value


def test_code_runs_in_a_separate_module_and_may_use_numpy() -> None:
    names = load(
        "import numpy as np\ndef double(x):\n    return np.add(x, x)", filename="reward.py"
    )

    assert names["double"](2) == 4
    assert "double" not in globals()


def test_annotations_of_this_program_don_t_leak_into_the_code() -> None:
    names = load(
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int' = 1",
        filename="reward.py",
    )

    assert names["A"]().x == 1


@pytest.mark.parametrize(
    ("code", "message", "line"),
    [
        ("def reward(obs:\n    return 1", "SyntaxError: '(' was never closed", 1),
        ("x = 1\n\ny = x / 0", "ZeroDivisionError: division by zero", 3),
        ("import math\ndef f():\n    math.sqrt(-1)\nf()", "ValueError: math domain error", 3),
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere'", 1),
        ("raise SystemExit", "it raised SystemExit, which would end the worker", 1),
        ("raise ValueError('a\\nb')", "ValueError: a", 1),
        ("x = 1\nraise ValueError", "ValueError", 2),
        (
            "raise MemoryError",
            "it ran out of the memory that a worker may use (RL_LAB_WORKER_MEMORY)",
            1,
        ),
        (
            "raise PermissionError(13, 'Permission denied', '/etc/shadow')",
            "the sandbox does not allow access to '/etc/shadow' (Permission denied)",
            1,
        ),
    ],
)
def test_an_error_names_the_line_of_the_users_file(code: str, message: str, line: int) -> None:
    error = refusal(code)

    assert str(error) == f"reward.py, line {line}: {message}"
    assert error.line == line


def test_an_error_outside_of_the_file_has_no_line() -> None:
    error = explain(ValueError("no"), "reward.py")

    assert (str(error), error.line) == ("reward.py: ValueError: no", None)


def test_an_explained_error_is_not_explained_again() -> None:
    error = UserCodeError("reward.py, line 2: no", 2)

    assert explain(error, "reward.py") is error


def test_a_long_message_is_truncated() -> None:
    assert len(str(refusal("raise ValueError('x' * 10_000)"))) == 500


def test_an_exception_that_cannot_be_printed_is_named() -> None:
    code = "class Odd(Exception):\n    def __str__(self):\n        return 1 / 0\nraise Odd"

    assert str(refusal(code)) == "reward.py, line 4: Odd"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can lock workers down")
@pytest.mark.parametrize(
    "attempt", ["open('/etc/passwd')", "import socket; socket.socket()", "import os; os.fork()"]
)
def test_an_operation_that_the_sandbox_denies_is_explained_in_a_sentence(attempt: str) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import app.protocol, app.worker;"
        "from app.worker.sandbox import lockdown; from app.worker.user_code import loader;"
        "lockdown.lock_down(app.worker.__path__, memory_mb=1024)\n"
        "try: loader.load(sys.argv[2], filename='reward.py')\n"
        "except loader.UserCodeError as error: print(error, error.line)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(Path.cwd()), f"x = 1\n{attempt}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.startswith("reward.py, line 2: the sandbox does not allow "), done.stderr
    assert done.stdout.strip().endswith(" 2")
