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
from tests.app.worker.sandbox import unprivileged
from tests.app.worker.sandbox.attack_runner import MEMORY_MB

LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can lock workers down")

_ESCAPES_WITHOUT_SANDBOX = {
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
async def test_no_attack_succeeds_in_a_real_worker() -> None:
    sandbox = await check_sandbox()

    if not any(layer.startswith("landlock") for layer in sandbox.layers):
        pytest.skip(f"THIS KERNEL HAS NO LANDLOCK: workers have only {sandbox.layers}")
    assert sandbox.escapes == ()
    assert sandbox.level is SandboxLevel.FULL


@LINUX_ONLY
def test_the_same_attacks_succeed_without_the_sandbox(tmp_path: Path) -> None:
    target = make_canary(tmp_path)
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from app.worker.sandbox import canary;"
        "print(json.dumps(canary.run_attacks(sys.argv[2], int(sys.argv[3]), 256)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(Path.cwd()), str(target), str(os.getpid())],
        capture_output=True,
        text=True,
        check=True,
    )

    assert set(json.loads(done.stdout.splitlines()[-1])) >= _ESCAPES_WITHOUT_SANDBOX


@LINUX_ONLY
@pytest.mark.skipif(os.getuid() != 0, reason="the other tests already run as an ordinary user")
def test_a_worker_of_an_unprivileged_user_is_sandboxed_as_well(tmp_path: Path) -> None:
    python = unprivileged.copy_system_python(tmp_path / "python")
    if isinstance(python, str):
        pytest.skip(f"NOT TESTED AS AN ORDINARY USER: {python}")
    target = make_canary(tmp_path)
    unprivileged.grant_all_permissions(tmp_path)
    worker = unprivileged.start_worker(python)
    job = commands.CheckSandbox(canary=str(target), lab_pid=os.getpid(), memory_mb=MEMORY_MB)

    successful = json.loads(unprivileged.request(worker, job))
    worker.communicate()

    assert successful["attacks"] == []


@pytest.mark.parametrize(
    ("successful", "level"),
    [
        ((), SandboxLevel.FULL),
        (("signal",), SandboxLevel.PARTIAL),
        (("memory", "unix"), SandboxLevel.PARTIAL),
        (("read",), SandboxLevel.NONE),
        (("udp", "signal"), SandboxLevel.NONE),
    ],
)
def test_the_level_follows_from_the_successful_attacks(
    successful: tuple[str, ...], level: SandboxLevel
) -> None:
    assert _level(frozenset(successful)) is level


@LINUX_ONLY
def test_a_hostile_system_call_ends_the_worker(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from app.worker.sandbox import kernel, lockdown, seccomp;"
        "lockdown.lock_down([], memory_mb=512); kernel.call('ptrace', 16, 1, 0, 0)"
    )

    done = subprocess.run([sys.executable, "-c", code, str(Path.cwd())], check=False)

    assert -done.returncode in (31, 159)


def test_the_sandbox_is_active_before_third_party_code_is_imported() -> None:
    """A thread that torch starts before Landlock is active would not be restricted."""
    source = boot_path().read_text()

    assert source.index("lockdown.lock_down(") < source.index("import jobs")
    for package in ("torch", "numpy", "gymnasium", "msgspec"):
        assert f"import {package}" not in source


def test_the_filter_has_a_size_that_the_kernel_accepts() -> None:
    assert 0 < len(seccomp._program(own_pid=1)) < 4_096


def test_a_failed_attack_is_not_reported(tmp_path: Path) -> None:
    assert "read" not in canary.run_attacks(str(tmp_path / "missing"), os.getpid(), 1)


@LINUX_ONLY
def test_a_video_can_be_encoded_in_the_sandbox() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import app.protocol, app.worker;"
        "from app.worker.sandbox import lockdown;"
        "lockdown.lock_down(app.worker.__path__, memory_mb=3072);"
        "import numpy as np; from app.worker.evaluation.mp4_writer import Mp4Writer;"
        "mp4 = Mp4Writer(25); [mp4.add(np.full((401, 601, 3), i, np.uint8)) for i in range(60)];"
        "content = mp4.finish(); print(mp4.width, mp4.height, content[4:8], len(content) > 1000)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(Path.cwd())], capture_output=True, text=True, check=False
    )

    assert done.stdout.strip() == "600 400 b'ftyp' True", done.stderr
