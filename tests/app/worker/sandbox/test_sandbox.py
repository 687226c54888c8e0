import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.protocol import commands
from app.worker.sandbox import canary, seccomp
from app.workers.sandbox_check import SandboxLevel, _level, check_sandbox
from app.workers.worker_process import boot_path
from tests.app.worker.sandbox import ordinary
from tests.app.worker.sandbox.arena import MEMORY_MB

LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can lock workers down")

_ESCAPES_WITHOUT_A_LOCK = {
    "read",
    "write",
    "create",
    "chmod",
    "truncate",
    "unlink",
    "tcp",
    "udp",
    "unix",
    "signal",
    "prlimit",
    "exec",
    "fork",
    "memory",
}


def make_canary(folder: Path) -> Path:
    folder.chmod(0o777)
    target = folder / "canary"
    for file in (target, folder / "canary.x"):
        file.write_text("canary")
        file.chmod(0o666)
    return target


@LINUX_ONLY
async def test_a_real_worker_finds_every_door_closed() -> None:
    sandbox = await check_sandbox()

    if not any(layer.startswith("landlock") for layer in sandbox.layers):
        pytest.skip(f"THIS KERNEL HAS NO LANDLOCK: workers have only {sandbox.layers}")
    assert sandbox.open_doors == ()
    assert sandbox.level is SandboxLevel.FULL


@LINUX_ONLY
def test_the_same_attacks_succeed_without_the_lock(tmp_path: Path) -> None:
    target = make_canary(tmp_path)
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from app.worker.sandbox import canary;"
        "print(json.dumps(canary.open_doors(sys.argv[2], int(sys.argv[3]), 256)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(Path.cwd()), str(target), str(os.getpid())],
        capture_output=True,
        text=True,
        check=True,
    )

    assert set(json.loads(done.stdout.splitlines()[-1])) >= _ESCAPES_WITHOUT_A_LOCK


@LINUX_ONLY
@pytest.mark.skipif(os.getuid() != 0, reason="the other tests already run as an ordinary user")
def test_an_ordinary_user_s_worker_is_locked_in_as_well(tmp_path: Path) -> None:
    python = ordinary.python_of_the_system(tmp_path / "python")
    if isinstance(python, str):
        pytest.skip(f"NOT TESTED AS AN ORDINARY USER: {python}")
    target = make_canary(tmp_path)
    ordinary.open_to_everybody(tmp_path)
    worker = ordinary.start_worker(python)
    job = commands.CheckSandbox(canary=str(target), lab_pid=os.getpid(), memory_mb=MEMORY_MB)

    doors = json.loads(ordinary.ask(worker, job))
    worker.communicate()

    assert doors["open"] == []


@pytest.mark.parametrize(
    ("doors", "level"),
    [
        ((), SandboxLevel.FULL),
        (("signal",), SandboxLevel.PARTIAL),
        (("memory", "unix"), SandboxLevel.PARTIAL),
        (("read",), SandboxLevel.NONE),
        (("udp", "signal"), SandboxLevel.NONE),
    ],
)
def test_the_level_follows_from_the_open_doors(doors: tuple[str, ...], level: SandboxLevel) -> None:
    assert _level(frozenset(doors)) is level


@LINUX_ONLY
def test_what_nothing_honest_does_ends_the_worker(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from app.worker.sandbox import kernel, lockdown, seccomp;"
        "lockdown.lock_down([], memory_mb=512); kernel.call('ptrace', 16, 1, 0, 0)"
    )

    done = subprocess.run([sys.executable, "-c", code, str(Path.cwd())], check=False)

    assert -done.returncode in (31, 159)


def test_the_lock_is_in_force_before_anything_foreign_is_imported() -> None:
    """The order of the boot: a thread that torch starts before Landlock would stay free."""
    source = boot_path().read_text()

    assert source.index("lockdown.lock_down(") < source.index("import jobs")
    for package in ("torch", "numpy", "gymnasium", "msgspec"):
        assert f"import {package}" not in source


def test_the_filter_fits_what_the_kernel_takes() -> None:
    assert 0 < len(seccomp._program(own_pid=1)) < 4_096


def test_an_attack_that_is_stopped_is_no_open_door(tmp_path: Path) -> None:
    assert "read" not in canary.open_doors(str(tmp_path / "missing"), os.getpid(), 1)


@LINUX_ONLY
def test_a_film_can_be_made_behind_the_lock() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import app.protocol, app.worker;"
        "from app.worker.sandbox import lockdown;"
        "lockdown.lock_down(app.worker.__path__, memory_mb=3072);"
        "import numpy as np; from app.worker.evaluation.mp4_writer import Mp4Writer;"
        "film = Mp4Writer(25); [film.add(np.full((401, 601, 3), i, np.uint8)) for i in range(60)];"
        "content = film.finish(); print(film.width, film.height, content[4:8], len(content) > 1000)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(Path.cwd())], capture_output=True, text=True, check=False
    )

    assert done.stdout.strip() == "600 400 b'ftyp' True", done.stderr
